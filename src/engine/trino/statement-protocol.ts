/**
 * One statement on a Trino coordinator: it is submitted, and each answer names the address of the next until there is none. Answers hold
 * rows, or segments of rows that lie elsewhere (spooled). https://trino.io/docs/current/develop/client-protocol.html
 *
 * The same address gives the same answer until the next one was asked for, so an answer that broke off is asked for again.
 */
import type { IncomingMessage } from 'node:http';
import { orAborted } from '../../domain/or-aborted.ts';
import { type RunProgress, wholePercent } from '../../domain/run-progress.ts';
import { type Sleep, TimeLimit } from '../../domain/time.ts';
import { EngineError } from '../engine.ts';
import type { Coordinator } from './coordinator.ts';
import { JsonSplitter, type SplitAnswer } from './json-splitter.ts';
import type { TrinoError } from './trino-errors.ts';
import { isSignature, type TypeSignature } from './trino-types.ts';

export interface ProtocolColumn {
  readonly name: string;
  readonly signature: TypeSignature;
}

export type Segment = { readonly rowCount: number; readonly bytes: number; readonly isCompressed: boolean } & (
  | { readonly kind: 'inline'; readonly data: Buffer }
  | {
      readonly kind: 'spooled';
      readonly uri: string;
      readonly ackUri: string;
      readonly headers: Readonly<Record<string, string>>;
    }
);

export interface Answer {
  readonly nextUri: string | undefined;
  readonly columns: readonly ProtocolColumn[] | undefined;
  /** A list of rows as JSON. */
  readonly rows: Buffer | undefined;
  readonly rowCount: number;
  readonly segments: readonly Segment[];
  readonly error: TrinoError | undefined;
  /** Where Trino has begun to run it. */
  readonly progress: RunProgress | undefined;
}

export interface StatementText {
  readonly sql: string;
  /** Names and values of session properties. */
  readonly session: Readonly<Record<string, string>>;
}

/** A statement that failed: in Trino's words. */
export class StatementFailed extends Error {
  readonly error: TrinoError;

  constructor(error: TrinoError) {
    super(error.message);
    this.error = error;
  }
}

/** Of one answer. Trino ends one when it has a megabyte of rows, but a row is never divided. */
const ANSWER_BYTES_MAX = 64_000_000;
/** How long a statement that is no longer wanted is waited for. */
const CANCEL_MILLIS = 3000;
const COMPRESSED = 'json+zstd';
/** Nothing is lost yet by a coordinator that is away: whoever asks hears of it soon. */
const SUBMIT_PATIENCE_MILLIS = 20_000;

/**
 * The answers to a statement, in order. Whoever stops early has the statement cancelled.
 * @throws the signal's reason once it is aborted; StatementFailed; QueryGone; EngineError
 */
export async function* runStatement(
  coordinator: Coordinator,
  statement: StatementText,
  sleep: Sleep,
  signal: AbortSignal,
): AsyncGenerator<Answer> {
  let next: string | undefined;
  const told = (address: string | undefined) => {
    next = address;
  };
  try {
    for (let answer = await submit(coordinator, statement, { told, sleep }, signal); ; ) {
      if (answer.error !== undefined) throw new StatementFailed(answer.error);
      yield answer;
      if (next === undefined) return;
      answer = await coordinator.ask(
        { method: 'GET', url: coordinator.ownUrl(next), signed: true },
        readAnswer,
        signal,
      );
      next = answer.nextUri;
    }
  } finally {
    if (next !== undefined) await cancel(coordinator, next, sleep);
  }
}

/** Where the caller leaves before the answer, its address is still waited for: without it nobody could cancel the statement. */
async function submit(
  coordinator: Coordinator,
  { sql, session }: StatementText,
  { told, sleep }: { readonly told: (next: string | undefined) => void; readonly sleep: Sleep },
  signal: AbortSignal,
): Promise<Answer> {
  signal.throwIfAborted();
  const { catalog, schema, origin } = coordinator.address;
  const properties = Object.entries(session).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  const headers = {
    'Content-Type': 'text/plain; charset=utf-8',
    'X-Trino-Source': 'query-results-service',
    'X-Trino-Catalog': catalog,
    ...(schema !== undefined && { 'X-Trino-Schema': schema }),
    'X-Trino-Time-Zone': 'UTC',
    // Without it, types lose their precision.
    'X-Trino-Client-Capabilities': 'PARAMETRIC_DATETIME',
    'X-Trino-Query-Data-Encoding': COMPRESSED,
    ...(properties.length > 0 && { 'X-Trino-Session': properties.join(',') }),
  };
  const url = new URL('/v1/statement', origin);
  const giveUp = new AbortController();
  const submitting = coordinator.ask(
    { method: 'POST', url, headers, body: sql, signed: true, patienceMillis: SUBMIT_PATIENCE_MILLIS },
    readAnswer,
    giveUp.signal,
  );
  try {
    const answer = await orAborted(submitting, signal);
    told(answer.nextUri);
    return answer;
  } catch (error) {
    if (!signal.aborted) throw error;
    using limit = new TimeLimit(CANCEL_MILLIS, sleep);
    limit.signal.addEventListener('abort', () => giveUp.abort(), { once: true });
    await submitting.then(
      ({ nextUri }) => told(nextUri),
      () => undefined,
    );
    throw error;
  }
}

/** Trino ends a statement by itself when nobody asks for its answers, but only after minutes. */
async function cancel(coordinator: Coordinator, next: string, sleep: Sleep): Promise<void> {
  using limit = new TimeLimit(CANCEL_MILLIS, sleep);
  try {
    const request = { method: 'DELETE', url: coordinator.ownUrl(next), signed: true } as const;
    await coordinator.askOnce(request, async (answer) => void answer.resume(), limit.signal);
  } catch {
    // It may have ended meanwhile, and the coordinator with it.
  }
}

async function readAnswer(message: IncomingMessage): Promise<Answer> {
  const splitter = new JsonSplitter();
  let bytes = 0;
  for await (const chunk of message) {
    bytes += (chunk as Buffer).length;
    if (bytes > ANSWER_BYTES_MAX) {
      throw new EngineError('result_limit', `Trino gave a row that takes more than ${ANSWER_BYTES_MAX} bytes as JSON`);
    }
    splitter.push(chunk as Buffer);
  }
  return answerOf(splitter.finish());
}

function answerOf({ envelope, rows, rowCount }: SplitAnswer): Answer {
  const { nextUri, columns, data, error, stats } = objectOf(parsed(envelope));
  // Nothing would be counted, and nothing missed.
  if (rows !== undefined && rowCount === 0 && !/^\[\s*\]$/.test(rows.toString()))
    throw notTheProtocol('rows that are no lists');
  return {
    nextUri: nextUri === undefined || nextUri === null ? undefined : String(nextUri),
    columns: columns === undefined || columns === null ? undefined : listOf(columns).map(columnOf),
    rows,
    rowCount,
    segments: data === undefined || data === null ? [] : segmentsOf(objectOf(data)),
    error: error === undefined || error === null ? undefined : errorOf(objectOf(error)),
    progress: progressOf(objectOf(stats ?? {})),
  };
}

/** A query that waits or is planned has no splits yet. */
function progressOf(stats: JsonObject): RunProgress | undefined {
  const { progressPercentage, completedSplits, totalSplits, processedRows, processedBytes } = stats;
  const percent = typeof progressPercentage === 'number' ? wholePercent(progressPercentage) : undefined;
  const total = isCount(totalSplits) ? totalSplits : 0;
  if (percent === undefined && total === 0) return undefined;
  return {
    ...(percent !== undefined && { percent }),
    ...(isCount(completedSplits) && total > 0 && { splits: { completed: completedSplits, total } }),
    ...(isCount(processedRows) &&
      isCount(processedBytes) && { processed: { rows: processedRows, bytes: processedBytes } }),
  };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function columnOf(column: unknown): ProtocolColumn {
  const { name, typeSignature } = objectOf(column);
  if (typeof name !== 'string' || !isSignature(typeSignature)) throw notTheProtocol('a column without a type');
  return { name, signature: typeSignature };
}

function segmentsOf({ encoding, segments }: JsonObject): readonly Segment[] {
  if (encoding !== COMPRESSED) throw notTheProtocol(`rows as ${String(encoding)}`);
  return listOf(segments).map((segment) => {
    const { type, data, uri, ackUri, headers, metadata } = objectOf(segment);
    const { rowsCount, segmentSize, uncompressedSize } = objectOf(metadata);
    const about = {
      rowCount: Number(rowsCount),
      bytes: Number(segmentSize),
      // Small ones are sent as they are, and only what was compressed has another size, too.
      isCompressed: uncompressedSize !== undefined,
    };
    if (!Number.isSafeInteger(about.rowCount) || !Number.isSafeInteger(about.bytes)) {
      throw notTheProtocol('rows without their number or size');
    }
    if (type === 'inline') return { ...about, kind: 'inline', data: Buffer.from(String(data), 'base64') };
    const given = Object.entries(objectOf(headers ?? {}));
    const flat = given.map(([name, value]) => [name, Array.isArray(value) ? value.join(',') : String(value)]);
    return { ...about, kind: 'spooled', uri: String(uri), ackUri: String(ackUri), headers: Object.fromEntries(flat) };
  });
}

function errorOf({ message, errorName, errorType, errorLocation }: JsonObject): TrinoError {
  const { lineNumber, columnNumber } = objectOf(errorLocation ?? {});
  const isPlaced = typeof lineNumber === 'number' && typeof columnNumber === 'number';
  return {
    message: String(message ?? ''),
    errorName: String(errorName ?? 'an unknown error'),
    errorType: String(errorType ?? ''),
    errorLocation: isPlaced ? { lineNumber, columnNumber } : undefined,
  };
}

type JsonObject = Readonly<Record<string, unknown>>;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw notTheProtocol('no JSON', cause);
  }
}

function objectOf(value: unknown): JsonObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject;
  throw notTheProtocol('no object where one must be');
}

function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw notTheProtocol('no list where one must be');
}

function notTheProtocol(found: string, cause?: unknown): EngineError {
  const message = `what answers at QRS_ENGINE_URL does not speak Trino's protocol: found ${found}`;
  return new EngineError('engine_error', message, { cause });
}
