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
import type { Tally } from '../observation/tally.ts';
import { envelopeOf, metadataOf } from './envelope.ts';
import { cacheControlOf, etagOf, matchesEtag } from './freshness.ts';
import type { Lookups } from './lookups.ts';
import type { LruBytes } from './lru-bytes.ts';
import { type PlanLimits, pageRowsMax, planRead } from './plan.ts';
import { formatQueryString } from './query-string.ts';
import { openPage, type ReadDeps } from './read.ts';
import type { ReadLeases } from './read-leases.ts';
import { allowsPartialResults, asksForSample, parseSharedParameters, type ResultsRequest } from './request.ts';
import { resolve } from './resolve.ts';
import { collect, counted, nextPageOf, type Responding, releasing, respondCsv, respondJson } from './respond.ts';

export interface ResultsDeps extends ReadDeps, PlanLimits {
  readonly lookups: Lookups;
  /** The place of a pending run among its like. */
  readonly queuePosition: (execution: Execution) => Promise<number>;
  /** Finished answers by identity. Results are immutable: only access and expiry are checked before this is asked. */
  readonly pages: LruBytes<FinishedPage>;
  readonly leases: ReadLeases;
  readonly clock: Clock;
  /** Monotonic milliseconds, for timing. */
  readonly monotonic: () => number;
  /** Show COMPLETED_PARTIAL as COMPLETED, for clients that do not know the state. */
  readonly partialAsCompleted: boolean;
}

export interface FinishedPage {
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly etag: string;
  readonly bytes: Uint8Array;
  /** What the answer costs whoever asks for it, read anew or not. */
  readonly rowCount: number;
  readonly cellBytes: number;
  readonly datapoints: number;
}

export interface Answer {
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Absent where the same request may be answered in other bytes. */
  readonly etag?: string;
  readonly body: AnswerBody;
}

export type AnswerBody =
  /** The client has it already: 304. */
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'whole'; readonly bytes: Uint8Array }
  | { readonly kind: 'stream'; readonly chunks: AsyncGenerator<Uint8Array> };

const CONTENT_TYPES = { json: 'application/json', csv: 'text/csv; charset=utf-8' } as const;

/** @throws RequestError */
export async function answerResults(
  request: ResultsRequest,
  principal: Principal,
  deps: ResultsDeps,
  tally: Tally,
  signal: AbortSignal,
): Promise<Answer> {
  try {
    return await answerOnce(request, principal, deps, tally, signal);
  } catch (error) {
    const isGone = error instanceof RequestError && error.code === 'result_damaged' && tally.executionId !== undefined;
    // An object that is missing because it expired and was swept a moment ago is no damage: the second look says so.
    if (!isGone || (await deps.lookups.resultSet(tally.executionId ?? '')) !== undefined) throw error;
    return await answerOnce(request, principal, deps, tally, signal);
  }
}

async function answerOnce(
  request: ResultsRequest,
  principal: Principal,
  deps: ResultsDeps,
  tally: Tally,
  signal: AbortSignal,
): Promise<Answer> {
  const { parameters, format } = request;
  const now = deps.clock();
  const timed = <T>(name: string, work: () => T | Promise<T>) => tally.stage(name, deps.monotonic, work);

  const execution = await timed('resolve', () => resolve(request.target, parameters, principal, deps.lookups, now));
  tally.executionId = execution.id;
  tally.queryId = execution.queryId;
  const state = stateAt(execution, now);
  if (!STATES[state].hasResult) return answerWithoutResult(request, execution, state, now);
  if (state === 'COMPLETED_PARTIAL' && !allowsPartialResults(parameters)) throw partialRefusal(execution);

  const identity = identityOf(request, execution);
  const isSample = asksForSample(parameters);
  const known = isSample ? undefined : deps.pages.get(identity);
  const freshness = headersOf(request, execution, now);
  tally.cache = known === undefined ? 'miss' : 'hit';
  if (known !== undefined) {
    if (matchesEtag(request.ifNoneMatch, known.etag)) return unchanged(request, known.etag, freshness);
    tally.add(known);
    const { contentType, etag, bytes } = known;
    return { contentType, headers: { ...known.headers, ...freshness }, etag, body: { kind: 'whole', bytes } };
  }

  const resultSet = await resultSetOf(execution, deps.lookups);
  const plan = await timed('plan', () =>
    planRead(parseSharedParameters(parameters, request.target), format, resultSet, deps),
  );
  const etag = isSample ? undefined : etagOf(identity);
  if (etag !== undefined && matchesEtag(request.ifNoneMatch, etag)) return unchanged(request, etag, freshness);

  const page = await timed('open', () =>
    openPage(execution.id, plan, resultSet, format, principal.keyId, deps, signal),
  );
  const next = nextPageOf(request, execution.id, page, pageRowsMax(plan));
  const headers = {
    ...(next !== undefined && { link: `<${next.uri}>; rel="next"` }),
    ...(page.filteredRowCount !== undefined && { 'filtered-row-count': String(page.filteredRowCount) }),
    ...(next !== undefined && format === 'csv' && { 'next-offset': String(next.offset), 'next-uri': next.uri }),
  };
  const found: Responding = { execution, state: shownState(state, deps), resultSet, page, next };
  const encoded = (format === 'json' ? respondJson : respondCsv)({ ...found, chunks: counted(page, tally, signal) });
  const chunks = releasing(page, encoded);
  const answer = { contentType: CONTENT_TYPES[format], headers: { ...headers, ...freshness }, ...(etag && { etag }) };
  if (!page.small) return { ...answer, body: { kind: 'stream', chunks: deps.leases.during(execution.id, chunks) } };

  const bytes = await timed('read', () => collect(chunks));
  if (etag !== undefined) {
    const { contentType } = answer;
    const { rowCount, cellBytes, datapoints } = tally;
    deps.pages.put(identity, { contentType, headers, etag, bytes, rowCount, cellBytes, datapoints });
  }
  return { ...answer, body: { kind: 'whole', bytes } };
}

/** The status endpoint: the envelope without rows, what is known of the whole result, the place in the queue. */
export async function answerStatus(
  request: ResultsRequest,
  principal: Principal,
  deps: ResultsDeps,
  tally: Tally,
): Promise<Answer> {
  const now = deps.clock();
  const execution = await tally.stage('resolve', deps.monotonic, () =>
    resolve(request.target, new Map(), principal, deps.lookups, now),
  );
  tally.executionId = execution.id;
  tally.queryId = execution.queryId;
  const state = stateAt(execution, now);
  const resultSet = STATES[state].hasResult ? await resultSetOf(execution, deps.lookups) : undefined;
  const body = {
    ...envelopeOf(execution, shownState(state, deps)),
    ...(resultSet !== undefined && { result_metadata: metadataOf(execution, resultSet, resultSet) }),
    ...(state === 'PENDING' && { queue_position: await deps.queuePosition(execution) }),
  };
  return envelopeAnswer(request, execution, state, body, now);
}

/** What the answer's bytes depend on. The key is no part of it: whether it may see them has been checked. */
function identityOf(request: ResultsRequest, execution: Execution): string {
  const parameters = new Map(request.parameters);
  parameters.delete('api_key');
  return `${execution.id} ${request.format} ${request.base}?${formatQueryString(parameters)}`;
}

function headersOf(request: ResultsRequest, execution: Execution, now: Instant): Readonly<Record<string, string>> {
  return {
    'cache-control': asksForSample(request.parameters) ? 'no-store' : cacheControlOf(request.freshness, execution, now),
    ...(execution.endedAt !== undefined && { 'last-modified': new Date(execution.endedAt).toUTCString() }),
  };
}

async function resultSetOf(execution: Execution, lookups: Lookups): Promise<ResultSet> {
  const resultSet = await lookups.resultSet(execution.id);
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
  throw new RequestError('no_result', `Query state is ${formatState(state)}, cannot provide CSV result`, {
    body: { state: formatState(state) },
  });
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
  const whole = { kind: 'whole', bytes: Buffer.from(text) } as const;
  if (!STATES[state].terminal) return { contentType, headers: { 'cache-control': 'no-store' }, body: whole };
  const etag = etagOf(text);
  const headers = {
    ...headersOf(request, execution, now),
    ...(state === 'EXPIRED' && { 'cache-control': 'private, no-cache' }),
  };
  if (matchesEtag(request.ifNoneMatch, etag)) return unchanged(request, etag, headers);
  return { contentType, headers, etag, body: whole };
}

function unchanged(request: ResultsRequest, etag: string, headers: Readonly<Record<string, string>>): Answer {
  return { contentType: CONTENT_TYPES[request.format], headers, etag, body: { kind: 'unchanged' } };
}
