/**
 * Answers with rows that are made of stored results: the difference of two, or what a share shows of one. They are made once, as parts beside
 * the views, and then read as a result is, so that pages, filters, orders, samples and formats are those of every answer.
 */
import { type Execution, stateAt } from '../../domain/execution.ts';
import type { Column } from '../../domain/result-set.ts';
import type { RequestStats } from '../../observation/request-stats.ts';
import type { Answer } from '../answer.ts';
import { answerText } from '../answer-text.ts';
import type { ResultsDeps } from '../deps.ts';
import type { OpenView } from '../derived/views/view-cache.ts';
import { planRead } from '../plan/read-plan.ts';
import type { ReadDeps } from '../read/open-page.ts';
import { releaseAfter } from '../read/page.ts';
import { requireFormat } from '../request/format.ts';
import { asksForNewSample, parseSharedParameters, type ResultsRequest } from '../request/results-request.ts';
import { answerIdentity } from '../respond/answer-identity.ts';
import { cacheHeadersOf, etagOf, sampleHeadersOf } from '../respond/cache-policy.ts';
import { respondKeptParquet, respondParquet } from '../respond/parquet.ts';
import { shownState } from '../respond/partial-result.ts';
import { respondFinished } from '../respond/text.ts';

/** Rows that can be made. */
export interface MadeRows {
  readonly columns: readonly Column[];
  /** Makes them, unless they are there. @throws RequestError; the signal's reason */
  open(signal: AbortSignal): Promise<OpenView>;
  /** What `metadata` says besides. */
  readonly toldOf?: (opened: OpenView) => object;
}

export interface MadeRequest {
  readonly request: ResultsRequest;
  /** What the envelope says. */
  readonly execution: Execution;
  /** Tells these rows from others that are made of the execution. */
  readonly name: string;
  /** Asked for unless the answer is in memory. @throws RequestError */
  readonly rows: () => Promise<MadeRows>;
  readonly keyId: string;
  /** Further headers of the answer. */
  readonly headers?: Answer['headers'];
}

/** What is made is no result that a sweep could take. */
const NO_LEASES: ReadDeps['leases'] = {
  hold: async () => new AsyncDisposableStack(),
  async *during(_, chunks) {
    yield* chunks;
  },
};

/** @throws RequestError */
export async function answerMade(
  { request, execution, name, rows, keyId, headers }: MadeRequest,
  deps: ResultsDeps,
  stats: RequestStats,
  signal: AbortSignal,
): Promise<Answer> {
  const { format, cachePolicy, parameters } = request;
  const { catalogCache, caches, settings } = deps;
  const now = deps.clock();
  const shown = shownState(stateAt(execution, now), settings.partialAsCompleted);
  const isNewSample = asksForNewSample(parameters);
  const words = format === 'parquet' ? await catalogCache.queryWords(execution.queryId) : undefined;
  const encoder = `${settings.encoder} ${name}`;
  const identify = (of: ResultsRequest) => answerIdentity(of, execution, shown, { ...settings, encoder }, words);
  const identity = identify(request);
  const cacheHeaders = {
    ...(isNewSample ? sampleHeadersOf({ execution }) : cacheHeadersOf(cachePolicy, { execution }, now)),
    ...headers,
  };
  const finished = isNewSample ? undefined : caches.pages.get(identity);
  if (finished !== undefined) return respondFinished(finished, finished.etag, cacheHeaders, request.ifNoneMatch, stats);
  if (format === 'parquet' && !isNewSample) {
    const kept = await respondKeptParquet(identity, { request, cacheHeaders }, deps, stats, signal);
    if (kept !== undefined) return kept;
  }

  const { columns, open, toldOf } = await rows();
  const plan = (rowCount: number) => {
    requireFormat(parameters, format);
    const empty = { columns, rowCount, cellBytes: 0, truncated: false, parts: [] };
    return planRead(parseSharedParameters(parameters), format, empty, settings);
  };
  // What is wrong with the request is told before anything is made.
  plan(0);
  using opened = await stats.stage('make', deps.monotonic, () => open(signal));
  const { resultSet } = opened;
  const ofMade = { ...deps, read: readDepsOf(deps.read) };
  const planned = {
    request,
    execution,
    executionId: execution.id,
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
    ...(toldOf !== undefined && { metadata: toldOf(opened) }),
  };
  if (format !== 'parquet') {
    return heldWhileSent(await answerText(planned, format, ofMade, stats, signal), opened);
  }
  return await respondParquet(planned, { ...ofMade, segmentIndexes: caches.segmentIndexes }, stats, signal);
}

/** Of rows that are made there are no row files and no indexes. */
function readDepsOf(read: ReadDeps): ReadDeps {
  return {
    ...read,
    store: { open: async (part) => await read.views.openPart(part), prefetch: async () => undefined },
    rowFiles: { ofResult: () => undefined, ofView: () => undefined },
    indexes: { ask: async () => undefined },
    leases: NO_LEASES,
  };
}

/** What is sent while it is read needs the rows until its last byte. */
function heldWhileSent(answer: Answer, opened: OpenView): Answer {
  const { body } = answer;
  if (body.kind !== 'stream' && body.kind !== 'partial') return answer;
  const held = opened.hold();
  const chunks = releaseAfter({ release: () => held?.[Symbol.dispose]() }, body.chunks);
  return { ...answer, body: { ...body, chunks } };
}
