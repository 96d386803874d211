/**
 * A request for results, from the principal to the answer. Each stage takes one value and gives the next; the order of the
 * stages is the order in which a request is checked (contract §4): identifier and access, state, parameters, limits.
 *
 *   resolve → (no result: the envelope alone) → (answered before: the same again) → parse → plan → open → respond
 */
import { type Execution, type ExecutionState, formatState, STATES, stateAt } from '../domain/execution.ts';
import type { Clock, Instant } from '../domain/instant.ts';
import type { Principal } from '../domain/principal.ts';
import type { ResultSet } from '../domain/result-set.ts';
import { RequestError } from '../errors/errors.ts';
import type { ReadLeases } from '../leases/read-leases.ts';
import { RequestStats } from '../observation/request-stats.ts';
import type { Answer } from './answer.ts';
import type { CatalogCache, Latest } from './cache/catalog-cache.ts';
import type { LruBytes } from './cache/lru-bytes.ts';
import type { SingleFlight } from './cache/single-flight.ts';
import { type PlanLimits, pageRowsMax, planRead } from './plan/read-plan.ts';
import { resolveTarget } from './plan/resolve.ts';
import type { ByteChunks } from './read/byte-chunks.ts';
import { openPage, type PageOfRows, type ReadDeps } from './read/page.ts';
import type { ParquetExports } from './read/parquet-exports.ts';
import type { CachePolicy } from './request/cache-policy.ts';
import { CONTENT_TYPES, FORMAT_NAMES, type Format, requireFormat, type TextFormat } from './request/format.ts';
import {
  allowsPartialResults,
  asksForSample,
  parseSharedParameters,
  type ResultsRequest,
  requireSameTarget,
} from './request/results-request.ts';
import { type AnswerSettings, answerIdentity } from './respond/answer-identity.ts';
import { etagOf, headersOf, matchesEtag, skippedOf } from './respond/cache-policy.ts';
import { envelopeOf, metadataOf } from './respond/envelope.ts';
import { respondNdjson } from './respond/ndjson.ts';
import { answerParquet } from './respond/parquet.ts';
import {
  collect,
  countRows,
  nextPageOf,
  pagingHeaders,
  type Responding,
  releaseAfter,
  respondCsv,
  respondJson,
  type WithRows,
} from './respond/respond.ts';
import type { Encode, SegmentIndex } from './respond/resumable.ts';
import { streamBody } from './respond/stream-answer.ts';

export interface ResultsDeps extends ReadDeps, PlanLimits, AnswerSettings {
  readonly catalogCache: CatalogCache;
  /** The place of a pending run among its like. */
  readonly queuePosition: (execution: Execution) => Promise<number>;
  /** Finished answers by identity. Results are immutable: only access and expiry are checked before this is asked. */
  readonly pages: LruBytes<FinishedPage>;
  /** What was answered a moment ago, by who asked and the whole address. */
  readonly addresses: LruBytes<AddressEntry>;
  /** What passes over streamed answers have shown, by identity. */
  readonly segmentIndexes: LruBytes<SegmentIndex>;
  /** Pages that are being read, by identity. */
  readonly opening: SingleFlight<OpenedPage>;
  readonly parquet: ParquetExports;
  readonly leases: ReadLeases;
  readonly clock: Clock;
  /** Give truncated results to everybody, as COMPLETED: for clients that know neither the parameter nor the state. */
  readonly partialAsCompleted: boolean;
}

export interface FinishedPage {
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly etag: string;
  readonly byteChunks: ByteChunks;
  /** What the answer costs whoever asks for it, read anew or not. */
  readonly rowCount: number;
  readonly cellBytes: number;
  readonly datapoints: number;
}

/** A page whose first byte may be sent: read, where it is small, and then the same for all who ask for it at this moment. */
export type OpenedPage =
  | { readonly kind: 'finished'; readonly page: Omit<FinishedPage, 'etag'> }
  | {
      readonly kind: 'large';
      readonly page: PageOfRows;
      readonly headers: FinishedPage['headers'];
      readonly encode: Encode;
    };

/** What an address meant to a key, as long as nothing has been committed and the execution has not expired. */
export interface AddressEntry extends Latest {
  readonly catalogVersion: number | undefined;
  /** Of the finished page. */
  readonly identity: string;
}

const RESPOND = { json: respondJson, ndjson: respondNdjson, csv: respondCsv } as const satisfies Readonly<
  Record<TextFormat, (found: WithRows) => AsyncGenerator<ByteChunks>>
>;

/**
 * The same answer again, where the same key has asked for the same address and its page is still there: without parsing,
 * resolving or planning anything. Access and expiry are as they were, since nothing has been committed and it is not yet time.
 */
export function answerAgain(
  address: string | undefined,
  cachePolicy: CachePolicy,
  { headers }: { readonly headers: { readonly 'if-none-match'?: string | undefined } },
  principal: Principal,
  deps: ResultsDeps,
  stats: RequestStats,
): { readonly answer: Answer; readonly terms: Pick<AddressEntry, 'catalogVersion' | 'execution'> } | undefined {
  const addresses = address === undefined ? undefined : deps.addresses.get(`${principal.keyId} ${address}`);
  if (addresses === undefined || addresses.catalogVersion !== deps.catalogCache.version) return undefined;
  const { execution } = addresses;
  const now = deps.clock();
  if (now >= (execution.expiresAt ?? Number.POSITIVE_INFINITY)) return undefined;
  const page = deps.pages.get(addresses.identity);
  if (page === undefined) return undefined;
  stats.executionId = execution.id;
  stats.queryId = execution.queryId;
  stats.cache = 'hit';
  const answer = finishedAnswer(page, cachePolicy, headers['if-none-match'], addresses, now, stats);
  return { answer, terms: { catalogVersion: addresses.catalogVersion, execution } };
}

function finishedAnswer(
  page: FinishedPage,
  cachePolicy: CachePolicy,
  ifNoneMatch: string | undefined,
  found: Latest,
  now: Instant,
  stats: RequestStats,
): Answer {
  const { contentType, etag, byteChunks } = page;
  const headers = { ...page.headers, ...headersOf(cachePolicy, found, now) };
  if (matchesEtag(ifNoneMatch, etag)) return { contentType, headers, etag, body: { kind: 'unchanged' } };
  stats.add(page);
  return { contentType, headers, etag, body: { kind: 'whole', byteChunks } };
}

/** @throws RequestError */
export async function answerResults(
  request: ResultsRequest,
  principal: Principal,
  deps: ResultsDeps,
  stats: RequestStats,
  signal: AbortSignal,
): Promise<Answer> {
  try {
    return await answerOnce(request, principal, deps, stats, signal);
  } catch (error) {
    const isGone = error instanceof RequestError && error.code === 'result_damaged' && stats.executionId !== undefined;
    if (isGone) await deps.catalogCache.refresh();
    // An object that is missing because it expired and was swept a moment ago is no damage, and behind a result whose parts are
    // missing there may be an older one: the second look says so.
    if (!isGone || !(await isToldOtherwise(request, principal, deps, stats.executionId ?? ''))) throw error;
    return await answerOnce(request, principal, deps, stats, signal);
  }
}

/** Whether the request means another execution by now, or that one has no result any more. */
async function isToldOtherwise(request: ResultsRequest, principal: Principal, deps: ResultsDeps, executionId: string) {
  if ((await deps.catalogCache.resultSet(executionId)) === undefined) return true;
  const found = await resolveTarget(request.target, request.parameters, principal, deps.catalogCache, deps.clock());
  return found.execution.id !== executionId;
}

async function answerOnce(
  request: ResultsRequest,
  principal: Principal,
  deps: ResultsDeps,
  stats: RequestStats,
  signal: AbortSignal,
): Promise<Answer> {
  const { parameters, format } = request;
  const now = deps.clock();
  // Of before the look-ups: what is committed while this request is answered must make what it found out of date.
  const catalogVersion = deps.catalogCache.version;
  const timed = <T>(name: string, work: () => T | Promise<T>) => stats.stage(name, deps.monotonic, work);

  const found = await timed('resolve', () =>
    resolveTarget(request.target, parameters, principal, deps.catalogCache, now),
  );
  const { execution } = found;
  stats.executionId = execution.id;
  stats.queryId = execution.queryId;
  const state = stateAt(execution, now);
  if (!STATES[state].hasResult) return answerWithoutResult(request, execution, state, now);
  const isAllowed = deps.partialAsCompleted || allowsPartialResults(parameters);
  if (state === 'COMPLETED_PARTIAL' && !isAllowed) throw partialRefusal(execution);

  const identity = answerIdentity(request, execution, shownState(state, deps), deps);
  const isSample = asksForSample(parameters);
  const known = isSample ? undefined : deps.pages.get(identity);
  const remember = () => {
    if (request.address === undefined) return;
    deps.addresses.put(`${principal.keyId} ${request.address}`, { ...found, catalogVersion, identity });
  };
  stats.cache = known === undefined ? 'miss' : 'hit';
  if (known !== undefined) {
    remember();
    return finishedAnswer(known, request.cachePolicy, request.ifNoneMatch, found, now, stats);
  }

  const resultSet = await resultSetOf(execution, deps.catalogCache);
  const plan = await timed('plan', () => {
    requireFormat(parameters, format);
    return planRead(parseSharedParameters(parameters, request.target), format, resultSet, deps);
  });
  const etag = isSample ? undefined : etagOf(identity);
  const cachePolicy = isSample
    ? { 'cache-control': 'no-store', ...skippedOf(found) }
    : headersOf(request.cachePolicy, found, now);
  if (format === 'parquet') {
    const asked = { request, executionId: execution.id, plan, resultSet, keyId: principal.keyId, cachePolicy };
    return await answerParquet(asked, deps, stats, signal);
  }
  if (etag !== undefined && matchesEtag(request.ifNoneMatch, etag)) return unchanged(format, etag, cachePolicy);

  const contentType = CONTENT_TYPES[format];
  const open = async (): Promise<OpenedPage> => {
    const page = await timed('open', () =>
      openPage(execution.id, plan, resultSet, format, principal.keyId, deps, signal),
    );
    const next = nextPageOf(request, execution.id, page, pageRowsMax(plan));
    const headers = pagingHeaders(request, page, next);
    const found: Responding = { execution, state: shownState(state, deps), resultSet, page, next };
    const encode: Encode = (chunks) => RESPOND[format]({ ...found, chunks });
    if (!page.small) return { kind: 'large', page, headers, encode };
    const cost = new RequestStats();
    const chunks = releaseAfter(page, encode(countRows(page.chunks(signal), page, cost)));
    const byteChunks = await timed('read', () => collect(chunks));
    const { rowCount, cellBytes, datapoints } = cost;
    return { kind: 'finished', page: { contentType, headers, byteChunks, rowCount, cellBytes, datapoints } };
  };
  const opened = await (etag === undefined
    ? open()
    : deps.opening.run(identity, signal, open, ({ kind }) => kind === 'finished'));
  if (opened.kind === 'large') {
    const { page, encode } = opened;
    const headers = { ...opened.headers, ...cachePolicy, 'row-count': String(page.rowCount) };
    const asked = { request, executionId: execution.id, identity, etag, page, encode };
    const body = await streamBody(asked, deps, stats, signal);
    return { contentType, headers, ...(etag && { etag }), body };
  }
  stats.add(opened.page);
  if (etag !== undefined) {
    remember();
    deps.pages.put(identity, { ...opened.page, etag });
  }
  const headers = { ...opened.page.headers, ...cachePolicy };
  return { contentType, headers, ...(etag && { etag }), body: { kind: 'whole', byteChunks: opened.page.byteChunks } };
}

/** The status endpoint: the envelope without rows, what is known of the whole result, the place in the queue. */
export async function answerStatus(
  request: ResultsRequest,
  principal: Principal,
  deps: ResultsDeps,
  stats: RequestStats,
): Promise<Answer> {
  const now = deps.clock();
  const { execution } = await stats.stage('resolve', deps.monotonic, () =>
    resolveTarget(request.target, new Map(), principal, deps.catalogCache, now),
  );
  stats.executionId = execution.id;
  stats.queryId = execution.queryId;
  requireSameTarget(request.parameters, request.target);
  const state = stateAt(execution, now);
  const resultSet = STATES[state].hasResult ? await resultSetOf(execution, deps.catalogCache) : undefined;
  const body = {
    ...envelopeOf(execution, shownState(state, deps)),
    ...(resultSet !== undefined && { result_metadata: metadataOf(execution, resultSet, resultSet) }),
    ...(state === 'PENDING' && { queue_position: await deps.queuePosition(execution) }),
  };
  return envelopeAnswer(request, execution, state, body, now);
}

async function resultSetOf(execution: Execution, catalogCache: CatalogCache): Promise<ResultSet> {
  const resultSet = await catalogCache.resultSet(execution.id);
  if (resultSet !== undefined) return resultSet;
  // Swept between the two look-ups: on asking again the reader is told that it has expired.
  throw new RequestError('execution_not_found', `The requested execution ID (ID ${execution.id}) was not found.`);
}

function shownState(state: ExecutionState, deps: ResultsDeps): ExecutionState {
  return state === 'COMPLETED_PARTIAL' && deps.partialAsCompleted ? 'COMPLETED' : state;
}

function answerWithoutResult(
  request: ResultsRequest,
  execution: Execution,
  state: ExecutionState,
  now: Instant,
): Answer {
  if (request.format === 'json') return envelopeAnswer(request, execution, state, envelopeOf(execution, state), now);
  throw new RequestError(
    'no_result',
    `Query state is ${formatState(state)}, cannot provide ${FORMAT_NAMES[request.format]} result`,
    {
      body: { state: formatState(state) },
    },
  );
}

/** The truncated result reads as a failure to whoever did not ask for it (specification §7). */
function partialRefusal(execution: Execution): RequestError {
  return new RequestError('partial_result', `Partial Result, please request with 'allow_partial_results=true'`, {
    body: envelopeOf(execution, 'FAILED'),
  });
}

/** A run that has not ended says something else in a moment; of one that has, the envelope stays until it expires. */
function envelopeAnswer(
  request: ResultsRequest,
  execution: Execution,
  state: ExecutionState,
  body: object,
  now: Instant,
): Answer {
  const text = JSON.stringify(body);
  const contentType = CONTENT_TYPES.json;
  const whole = { kind: 'whole', byteChunks: [Buffer.from(text)] } as const;
  if (!STATES[state].terminal) return { contentType, headers: { 'cache-control': 'no-store' }, body: whole };
  const etag = etagOf(text);
  const headers = {
    ...headersOf(request.cachePolicy, { execution }, now),
    ...(state === 'EXPIRED' && { 'cache-control': 'private, no-cache' }),
  };
  if (matchesEtag(request.ifNoneMatch, etag)) return unchanged(request.format, etag, headers);
  return { contentType, headers, etag, body: whole };
}

function unchanged(format: Format, etag: string, headers: Readonly<Record<string, string>>): Answer {
  return { contentType: CONTENT_TYPES[format], headers, etag, body: { kind: 'unchanged' } };
}
