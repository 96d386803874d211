/** The difference of two results (contract §8): what changed from one to the other, as rows. */
import { type Execution, formatState, STATES, stateAt } from '../../domain/execution.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Principal } from '../../domain/principal.ts';
import { RequestError } from '../../errors/errors.ts';
import type { RequestStats } from '../../observation/request-stats.ts';
import type { Answer } from '../answer.ts';
import { answerAnew } from '../answer-anew.ts';
import type { ResultsDeps } from '../deps.ts';
import { answerMade, type MadeRows } from '../made/answer-made.ts';
import { columnsOfDiff, type DiffColumns, diffColumnsOf } from '../plan/diff-columns.ts';
import { getResultSet, resolveTarget } from '../plan/resolve.ts';
import { parseColumnNames } from '../request/columns-parameter.ts';
import { parameterOf, type QueryParameters } from '../request/query-string.ts';
import { type ResultsRequest, requireSameTarget, type Target } from '../request/results-request.ts';
import { requireWhole } from '../respond/partial-result.ts';
import { type DiffRequest, openDiff } from './make-diff.ts';

/** Which two results, in which parameters: `from` and `to` are times where the address names a query. */
export interface DiffTargets {
  readonly from: Target;
  readonly to: Target;
}

interface DiffContext {
  readonly principal: Principal;
  readonly stats: RequestStats;
  readonly signal: AbortSignal;
}

/** @throws RequestError */
export async function answerDiff(
  request: ResultsRequest,
  targets: DiffTargets,
  context: DiffContext,
  deps: ResultsDeps,
): Promise<Answer> {
  return await answerAnew(request, (asked) => answerOnce(asked, targets, context, deps));
}

async function answerOnce(
  request: ResultsRequest,
  { from, to }: DiffTargets,
  { principal, stats, signal }: DiffContext,
  deps: ResultsDeps,
): Promise<Answer> {
  const { catalogCache, settings } = deps;
  const { keyId } = principal;
  const now = deps.clock();
  const resolve = async (target: Target) =>
    (await resolveTarget(target, request.parameters, principal, catalogCache, now)).execution;
  const [before, after] = [await resolve(from), await resolve(to)];
  stats.executionId = after.id;
  stats.queryId = after.queryId;
  for (const execution of [before, after]) requireResult(execution, request, settings.partialAsCompleted, now);
  requireSameTarget(request.parameters, to);
  const execution = { ...after, expiresAt: Math.min(before.expiresAt ?? now, after.expiresAt ?? now) };
  const asked = pinned(request, before, after);
  const rows = () => rowsOf(before, after, asked.parameters, keyId, deps);
  // Of both: a run that was put back by a restore and stored once more has other rows under the same id, and another end.
  const name = `diff ${before.id} ${before.expiresAt} ${after.expiresAt}`;
  return await answerMade({ request: asked, execution, name, rows, keyId }, deps, stats, signal);
}

function requireResult(execution: Execution, request: ResultsRequest, partialAsCompleted: boolean, now: Instant): void {
  const state = stateAt(execution, now);
  if (!STATES[state].hasResult) {
    const problem = `the state of execution ${execution.id} is ${formatState(state)}: it has no result to compare`;
    throw new RequestError('no_result', problem, { body: { state: formatState(state) } });
  }
  requireWhole(state, execution, request, partialAsCompleted);
}

/** Further pages are of these two runs, whatever becomes the latest meanwhile. */
function pinned(request: ResultsRequest, before: Execution, after: Execution): ResultsRequest {
  const parameters = new Map([...request.parameters].filter(([name]) => name !== 'from' && name !== 'to'));
  return { ...request, parameters, pagesAt: `execution/${after.id}/diff/${before.id}` };
}

async function rowsOf(
  before: Execution,
  after: Execution,
  parameters: QueryParameters,
  keyId: string,
  { catalogCache, read }: Pick<ResultsDeps, 'catalogCache' | 'read'>,
): Promise<MadeRows> {
  const from = { executionId: before.id, resultSet: await getResultSet(before, catalogCache) };
  const to = { executionId: after.id, resultSet: await getResultSet(after, catalogCache) };
  const key = parameterOf(parameters, 'key');
  const names = key === undefined ? undefined : parseColumnNames(key);
  const diff = { from, to, columns: diffColumnsOf(from.resultSet, to.resultSet, names) };
  return {
    columns: columnsOfDiff(diff.columns),
    open: async (signal) => await openDiff(diff, keyId, read, signal),
    toldOf: ({ counts = {} }) => ({ diff: toldOf(diff, counts) }),
  };
}

/** The counts are of the whole difference, whatever is filtered. */
function toldOf({ from, to, columns }: DiffRequest, counts: Readonly<Record<string, number>>): object {
  const { added = 0, removed = 0, changed_to: changed = 0 } = counts;
  return {
    from_execution_id: from.executionId,
    to_execution_id: to.executionId,
    added,
    removed,
    changed,
    unchanged: to.resultSet.rowCount - added - changed,
    ...namesOf('key', keyNames(columns)),
    ...namesOf('columns_only_in_from', columns.onlyFrom),
    ...namesOf('columns_only_in_to', columns.onlyTo),
  };
}

function keyNames({ compared, key }: DiffColumns): readonly string[] {
  return key.flatMap((index) => compared[index]?.name ?? []);
}

function namesOf(name: string, names: readonly string[]): object {
  return names.length === 0 ? {} : { [name]: names };
}
