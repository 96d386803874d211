/**
 * The answer in one of the text formats. A small one is finished in memory: all who ask for it at that moment share it, and it
 * may be cached. A large one is encoded while it is read.
 */
import type { Execution, ExecutionState } from '../../domain/execution.ts';
import type { ResultSet } from '../../domain/result-set.ts';
import { RequestStats } from '../../observation/request-stats.ts';
import type { Answer } from '../answer.ts';
import type { FinishedPage } from '../cache/finished-pages.ts';
import { pageRowsMax, type ReadPlan } from '../plan/read-plan.ts';
import { type ByteChunks, byteLengthOf, gather } from '../read/byte-chunks.ts';
import type { PageOfRows } from '../read/page.ts';
import { CONTENT_TYPES, type TextFormat } from '../request/format.ts';
import type { ResultsRequest } from '../request/results-request.ts';
import type { AnswerSource, Encode, SourceWithRows } from './answer-source.ts';
import { matchesEtag } from './cache-policy.ts';
import { countChunk } from './count-rows.ts';
import { encodeCsv } from './csv.ts';
import { encodeJson } from './json.ts';
import { encodeNdjson } from './ndjson.ts';
import { type NextPage, nextPageOf, pagingHeaders } from './next-page.ts';

/** An answer that is encoded while it is read. */
export interface LargeAnswer {
  readonly kind: 'large';
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly page: PageOfRows;
  readonly next: NextPage | undefined;
  readonly encode: Encode;
}

export interface FinishedAnswer {
  readonly kind: 'finished';
  readonly page: Omit<FinishedPage, 'etag'>;
  readonly next: NextPage | undefined;
  /** Whether it is short, and row files alone, or what was read ahead, had its rows. */
  readonly isLight: boolean;
  readonly readOn: PageOfRows['readOn'];
  /** How its rows were found, where it was read before it was asked for. */
  readonly way?: string | undefined;
}

/** An answer whose first byte may be sent. */
export type OpenedAnswer = LargeAnswer | FinishedAnswer;

export interface TextRequest {
  readonly request: ResultsRequest;
  readonly execution: Execution;
  /** The state that the reader is shown, see partial-result.ts. */
  readonly state: ExecutionState;
  readonly resultSet: ResultSet;
  readonly plan: ReadPlan;
  /** What `result.metadata` has besides. */
  readonly metadata?: object;
}

/** Up to this size, copying an answer into one array takes less time than sending several arrays. */
const JOINED_BYTES_MAX = 1024 * 1024;

/** A larger page is not read ahead: that would hold up other requests, and its client waits for the network rather than for us. */
const SHORT_BYTES_MAX = 512 * 1024;

const ENCODERS = { json: encodeJson, ndjson: encodeNdjson, csv: encodeCsv } as const satisfies Readonly<
  Record<TextFormat, (source: SourceWithRows) => AsyncGenerator<ByteChunks>>
>;

/** The head of the answer, and how its rows are encoded. */
export function respondText(asked: TextRequest, format: TextFormat, page: PageOfRows): LargeAnswer {
  const { request, execution, state, resultSet, plan, metadata } = asked;
  const next = nextPageOf(request, execution.id, page, pageRowsMax(plan));
  const filteredRowCount = plan.tellsCount ? page.filteredRowCount : undefined;
  const source: AnswerSource = {
    execution,
    state,
    resultSet,
    page,
    next,
    spelling: plan.spelling,
    filteredRowCount,
    metadata,
  };
  return {
    kind: 'large',
    contentType: CONTENT_TYPES[format],
    headers: pagingHeaders(request, page, next),
    page,
    next,
    encode: (chunks) => ENCODERS[format]({ ...source, chunks }),
  };
}

/** Reads a small answer to its end. */
export async function finishText(answer: LargeAnswer, signal: AbortSignal): Promise<FinishedAnswer> {
  const { contentType, headers, page, next, encode } = answer;
  const stats = new RequestStats();
  const chunks = await Array.fromAsync(page.chunks(signal)).finally(() => page.release());
  for (const chunk of chunks) countChunk(chunk, page, stats);
  const all: Uint8Array[] = [];
  for await (const byteChunks of encode(chunks)) all.push(...byteChunks);
  const { rowCount, cellBytes, datapoints } = stats;
  const isShort = byteLengthOf(all) <= SHORT_BYTES_MAX;
  const price = { 'row-count': String(rowCount), 'datapoint-count': String(datapoints) };
  const finished = { contentType, headers: { ...headers, ...price }, byteChunks: gather(all, JOINED_BYTES_MAX) };
  return {
    kind: 'finished',
    page: { ...finished, rowCount, cellBytes, datapoints },
    next,
    isLight: isShort && page.wasLight?.() === true,
    readOn: page.readOn,
  };
}

/**
 * Answers with a finished page.
 * @param etag undefined: the same request may get other bytes next time
 * @param cacheHeaders say how long the answer may be kept
 */
export function respondFinished(
  page: Omit<FinishedPage, 'etag'> & { readonly isOwn?: boolean },
  etag: string | undefined,
  cacheHeaders: Readonly<Record<string, string>>,
  ifNoneMatch: string | undefined,
  stats: RequestStats,
): Answer {
  const { contentType, byteChunks, isOwn = false } = page;
  const headers = { ...page.headers, ...cacheHeaders };
  if (etag === undefined) {
    stats.add(page);
    return { contentType, headers, body: { kind: 'whole', byteChunks, isOwn } };
  }
  if (matchesEtag(ifNoneMatch, etag)) return { contentType, headers, etag, body: { kind: 'unchanged' } };
  stats.add(page);
  return { contentType, headers, etag, body: { kind: 'whole', byteChunks, isOwn } };
}
