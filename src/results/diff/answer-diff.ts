/**
 * The difference of two results (contract §8): what changed from one to the other, as rows. It is made once and then read as a result is, so
 * that pages, filters, orders, samples and formats are those of every answer.
 */
import { type Execution, formatState, STATES, stateAt } from '../../domain/execution.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Principal } from '../../domain/principal.ts';
import { RequestError } from '../../errors/errors.ts';
import type { RequestStats } from '../../observation/request-stats.ts';
import type { Answer } from '../answer.ts';
import { answerAnew } from '../answer-anew.ts';
import { answerText } from '../answer-text.ts';
import type { ResultsDeps } from '../deps.ts';
import type { OpenView } from '../derived/views/view-cache.ts';
import { columnsOfDiff, type DiffColumns, diffColumnsOf } from '../plan/diff-columns.ts';
import { planRead } from '../plan/read-plan.ts';
import { getResultSet, resolveTarget } from '../plan/resolve.ts';
import type { ReadDeps } from '../read/open-page.ts';
import { releaseAfter } from '../read/page.ts';
import { parseColumnNames } from '../request/columns-parameter.ts';
import { requireFormat } from '../request/format.ts';
import { parameterOf, type QueryParameters } from '../request/query-string.ts';
import {
  asksForNewSample,
  parseSharedParameters,
  type ResultsRequest,
  requireSameTarget,
  type Target,
} from '../request/results-request.ts';
import { answerIdentity } from '../respond/answer-identity.ts';
import { cacheHeadersOf, etagOf, sampleHeadersOf } from '../respond/cache-policy.ts';
import { respondKeptParquet, respondParquet } from '../respond/parquet.ts';
import { requireWhole, shownState } from '../respond/partial-result.ts';
import { respondFinished } from '../respond/text.ts';
import { type DiffRequest, openDiff } from './make-diff.ts';

/** Which two results, in which parameters: `from` and `to` are times where the address names a query. */
export interface DiffTargets {
  readonly from: Target;
  readonly to: Target;
}

/** A difference that is made is no result that a sweep could take. */
const NO_LEASES: ReadDeps['leases'] = {
  hold: async () => new AsyncDisposableStack(),
  async *during(_, chunks) {
    yield* chunks;
  },
};

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
  const { format, cachePolicy } = request;
  const { catalogCache, caches, settings } = deps;
  const now = deps.clock();
  const resolve = async (target: Target) =>
    (await resolveTarget(target, request.parameters, principal, catalogCache, now)).execution;
  const [before, after] = [await resolve(from), await resolve(to)];
  stats.executionId = after.id;
  stats.queryId = after.queryId;
  for (const execution of [before, after]) requireResult(execution, request, settings.partialAsCompleted, now);
  requireSameTarget(request.parameters, to);

  const asked = pinned(request, before, after);
  const { parameters } = asked;
  const shown = shownState(stateAt(after, now), settings.partialAsCompleted);
  const execution = { ...after, expiresAt: Math.min(before.expiresAt ?? now, after.expiresAt ?? now) };
  const isNewSample = asksForNewSample(parameters);
  const words = format === 'parquet' ? await catalogCache.queryWords(after.queryId) : undefined;
  const encoder = `${settings.encoder} diff ${before.id}`;
  const identify = (of: ResultsRequest) => answerIdentity(of, execution, shown, { ...settings, encoder }, words);
  const identity = identify(asked);
  const cacheHeaders = isNewSample ? sampleHeadersOf({ execution }) : cacheHeadersOf(cachePolicy, { execution }, now);
  const finished = isNewSample ? undefined : caches.pages.get(identity);
  if (finished !== undefined) return respondFinished(finished, finished.etag, cacheHeaders, request.ifNoneMatch, stats);
  if (format === 'parquet' && !isNewSample) {
    const kept = await respondKeptParquet(identity, { request: asked, cacheHeaders }, deps, stats, signal);
    if (kept !== undefined) return kept;
  }

  const diff: DiffRequest = await diffOf(before, after, parameters, deps);
  const plan = (rowCount: number) => {
    requireFormat(parameters, format);
    const columns = columnsOfDiff(diff.columns);
    const empty = { columns, rowCount, cellBytes: 0, truncated: false, parts: [] };
    return planRead(parseSharedParameters(parameters), format, empty, settings);
  };
  // What is wrong with the request is told before anything is made.
  plan(0);
  const { keyId } = principal;
  using opened = await stats.stage('diff', deps.monotonic, () => openDiff(diff, keyId, deps.read, signal));
  const { resultSet } = opened;
  const ofDiff = { ...deps, read: readDepsOf(deps.read) };
  const planned = {
    request: asked,
    execution,
    executionId: after.id,
    rowsOf: opened.identity,
    state: shown,
    resultSet,
    plan: plan(resultSet.rowCount),
    keyId,
    tellWay: (way: string) => {
      stats.way = way;
    },
    words,
    known: isNewSample ? undefined : { identity, etag: etagOf(identity) },
    identify,
    cacheHeaders,
    metadata: { diff: toldOf(diff, opened.counts ?? {}) },
  };
  if (format !== 'parquet') {
    return heldWhileSent(await answerText(planned, format, ofDiff, stats, signal), opened);
  }
  return await respondParquet(planned, { ...ofDiff, segmentIndexes: caches.segmentIndexes }, stats, signal);
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

async function diffOf(
  before: Execution,
  after: Execution,
  parameters: QueryParameters,
  { catalogCache }: Pick<ResultsDeps, 'catalogCache'>,
): Promise<DiffRequest> {
  const from = { executionId: before.id, resultSet: await getResultSet(before, catalogCache) };
  const to = { executionId: after.id, resultSet: await getResultSet(after, catalogCache) };
  const key = parameterOf(parameters, 'key');
  const names = key === undefined ? undefined : parseColumnNames(key);
  return { from, to, columns: diffColumnsOf(from.resultSet, to.resultSet, names) };
}

/** Of rows of a difference there are no row files and no indexes. */
function readDepsOf(read: ReadDeps): ReadDeps {
  return {
    ...read,
    store: { open: async (part) => await read.views.openPart(part), prefetch: async () => undefined },
    rowFiles: { ofResult: () => undefined, ofView: () => undefined },
    indexes: { ask: async () => undefined },
    leases: NO_LEASES,
  };
}

/** What is sent while it is read needs the difference until its last byte. */
function heldWhileSent(answer: Answer, opened: OpenView): Answer {
  const { body } = answer;
  if (body.kind !== 'stream' && body.kind !== 'partial') return answer;
  const held = opened.hold();
  const chunks = releaseAfter({ release: () => held?.[Symbol.dispose]() }, body.chunks);
  return { ...answer, body: { ...body, chunks } };
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
