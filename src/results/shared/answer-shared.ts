/**
 * Answers requests at the address of a share (contract §11). A share of a whole result is answered as the result is. If it shows only some columns
 * or rows, these are made into rows of their own, which hold nothing else: no parameter, count or error can tell of the others.
 */
import { type Execution, formatState, STATES, stateAt } from '../../domain/execution.ts';
import type { Principal } from '../../domain/principal.ts';
import type { ResultSet } from '../../domain/result-set.ts';
import type { Share } from '../../domain/share.ts';
import { RequestError } from '../../errors/errors.ts';
import type { ExpressionLimits } from '../../expression/limits.ts';
import type { RequestStats } from '../../observation/request-stats.ts';
import type { Answer } from '../answer.ts';
import { answerAnew } from '../answer-anew.ts';
import { viewIdentity } from '../compile/view.ts';
import type { ResultsDeps } from '../deps.ts';
import { madeIdentity } from '../derived/views/made-identity.ts';
import type { OpenView } from '../derived/views/view-cache.ts';
import { answerMade, type MadeRows } from '../made/answer-made.ts';
import { answerResults } from '../pipeline.ts';
import { getResultSet, resolveTarget } from '../plan/resolve.ts';
import { asHeavyWork } from '../read/heavy-work.ts';
import type { ReadDeps } from '../read/open-page.ts';
import type { ReadRequest } from '../read/page.ts';
import { parameterOf, type QueryParameters } from '../request/query-string.ts';
import {
  asOfOf,
  queryParametersOf,
  type ResultsRequest,
  requireSameTarget,
  type Target,
} from '../request/results-request.ts';
import { SHARED_PARAMETERS } from '../request/shared-parameters.ts';
import { fileHeaders } from '../respond/file-name.ts';
import { requireWhole } from '../respond/partial-result.ts';
import { type Restriction, restrictionOf } from './restriction.ts';

export interface SharedContext {
  /** Acts for the owner of what is shared. */
  readonly principal: Principal;
  readonly share: Share;
  readonly stats: RequestStats;
  readonly signal: AbortSignal;
}

/** @param request its target is that of the share @throws RequestError */
export async function answerShared(
  request: ResultsRequest,
  { principal, share, stats, signal }: SharedContext,
  deps: ResultsDeps,
): Promise<Answer> {
  const { catalogCache, settings } = deps;
  const { parameters } = request;
  requireShownRun(share, parameters);
  requireSameTarget(parameters, request.target);
  const now = deps.clock();
  const found = await resolveTarget(runOf(request), new Map(), principal, catalogCache, now);
  const { execution } = found;
  if (execution.queryId !== share.queryId) throw notShared(execution.id);
  stats.executionId = execution.id;
  stats.queryId = execution.queryId;
  const state = stateAt(execution, now);
  if (!STATES[state].hasResult) {
    // The error does not say why: that could tell something about the query.
    const problem = `the state of execution ${execution.id} is ${formatState(state)}: it has no result to show`;
    throw new RequestError('no_result', problem, { body: { state: formatState(state) } });
  }
  const asked: ResultsRequest = { ...request, ...pinned(execution, share, parameters) };
  if (share.columns === undefined && share.filters === undefined) {
    return await answerResults(asked, principal, deps, stats, signal);
  }
  requireWhole(state, execution, asked, settings.partialAsCompleted);
  const { keyId } = principal;
  const rows = () => rowsOf(execution, share, keyId, deps);
  const name = `share ${JSON.stringify([share.columns, share.filters])}`;
  const headers = fileHeaders(found, request.format);
  return await answerAnew(asked, (anew) =>
    answerMade({ request: anew, execution, name, rows, keyId, headers }, deps, stats, signal),
  );
}

/** A share shows one run, so parameters that choose another are refused. @throws RequestError incompatible_parameters */
function requireShownRun({ executionId }: Share, parameters: QueryParameters): void {
  const asksForAnother = asOfOf(parameters) !== undefined || Object.keys(queryParametersOf(parameters)).length > 0;
  if (!asksForAnother) return;
  const shown = executionId === undefined ? 'the latest run' : 'one execution';
  throw new RequestError('incompatible_parameters', `as_of, params: this address shows ${shown} and no other`);
}

export function targetOf({ queryId, executionId }: Share): Target {
  return executionId === undefined ? { kind: 'query', queryId: String(queryId) } : { kind: 'execution', executionId };
}

/** Further pages of the latest result of a query name the run in which they began. */
function runOf({ target, parameters }: ResultsRequest): Target {
  const begun = parameterOf(parameters, SHARED_PARAMETERS.executionId.name);
  return target.kind === 'execution' || begun === undefined ? target : { kind: 'execution', executionId: begun };
}

function notShared(executionId: string): RequestError {
  return new RequestError('execution_not_found', `The requested execution ID (ID ${executionId}) was not found.`);
}

/** Further pages of a query's share are of this run, whatever becomes the latest meanwhile. */
function pinned(
  { id }: Execution,
  { executionId }: Share,
  parameters: QueryParameters,
): Pick<ResultsRequest, 'target' | 'parameters'> {
  const target = { kind: 'execution', executionId: id } as const;
  const run = executionId === undefined ? ([[SHARED_PARAMETERS.executionId.name, [id]]] as const) : [];
  return { target, parameters: new Map([...parameters, ...run]) };
}

async function rowsOf(
  execution: Execution,
  share: Share,
  keyId: string,
  { catalogCache, read }: Pick<ResultsDeps, 'catalogCache' | 'read'>,
): Promise<MadeRows> {
  const resultSet = await getResultSet(execution, catalogCache);
  const restriction = restrictionFor(share, execution, resultSet);
  return {
    columns: namesAndTypes(restriction.columns),
    open: async (signal) => await openShown({ executionId: execution.id, resultSet, keyId }, restriction, read, signal),
  };
}

/** Its filters were within the limits when it was made. The limits of today are for what is asked today. */
const AS_MADE: ExpressionLimits = {
  lengthMax: Number.POSITIVE_INFINITY,
  termsMax: Number.POSITIVE_INFINITY,
  depthMax: Number.POSITIVE_INFINITY,
  inMembersMax: Number.POSITIVE_INFINITY,
  sortKeysMax: Number.POSITIVE_INFINITY,
};

/** @throws RequestError no_result where the run has other columns than those that were shared; it does not tell which it has */
function restrictionFor(share: Share, { id }: Execution, { columns }: ResultSet): Restriction {
  try {
    const restriction = restrictionOf(share, columns, AS_MADE);
    if (restriction !== undefined) return restriction;
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
  }
  const problem = `execution ${id} does not have the columns that this share shows, or filters by; whoever shared it can share it anew`;
  throw new RequestError('no_result', problem);
}

/** Makes them once for all who ask. @throws RequestError; the signal's reason */
async function openShown(
  { executionId, resultSet, keyId }: Pick<ReadRequest, 'executionId' | 'resultSet' | 'keyId'>,
  { view, columns }: Restriction,
  { views, limiter, leases }: Pick<ReadDeps, 'views' | 'limiter' | 'leases'>,
  signal: AbortSignal,
): Promise<OpenView> {
  const indexes = columns.map(({ index }) => index);
  const identity = madeIdentity('shown', [viewIdentity(executionId, view), indexes]);
  // DuckDB reads no empty list of files.
  const none = async () => ({ resultSet: { ...resultSet, columns: namesAndTypes(columns) }, files: [] });
  const open = () =>
    resultSet.parts.length === 0
      ? views.getMade(identity, none, keyId, signal)
      : views.get(identity, { view, resultSet, columns, isResult: true }, keyId, signal);
  if (views.hasMade(identity)) return await open();
  return await asHeavyWork({ executionIds: [executionId], keyId }, { limiter, leases }, signal, open);
}

function namesAndTypes(columns: Restriction['columns']): ResultSet['columns'] {
  return columns.map(({ name, type }) => ({ name, type }));
}
