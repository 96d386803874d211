/**
 * Sends an answer: status and headers, compressed as the client accepts, at once or as it is read. An answer that fails after its
 * first byte is cut (the connection is aborted), never ended as if it were whole.
 */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { letOthersRun } from '../domain/time.ts';
import type { Turns } from '../domain/turns.ts';
import type { Answer, AnswerBody, AnswerSize } from '../results/answer.ts';
import { giveBack } from '../results/give-back.ts';
import { isClientGone } from '../results/limits/client-gone.ts';
import { type ByteChunks, byteLengthOf, cutBytes } from '../results/read/byte-chunks.ts';
import { type ByteSlice, resolveRange } from '../results/request/byte-range.ts';
import { wantsSha256 } from '../results/request/want-digest.ts';
import { matchedTag } from '../results/respond/cache-policy.ts';
import { answerHeaders } from './answer-headers.ts';
import { askedRange, streamedTagOf, tagOf } from './byte-ranges.ts';
import { ChunkStream, type ChunkStreamOptions, giveBackSent } from './chunk-stream.ts';
import type { CompressedCache } from './compressed-cache.ts';
import { COMPRESSED_BYTES_MIN, compressor, type Encoding, negotiateEncoding } from './compression.ts';
import { isFault, type OnFault, toRequestError } from './errors.ts';
import { requireUnchanged } from './preconditions.ts';
import type { UnsentAnswers } from './unsent-answers.ts';

export interface SendOptions {
  /** Prefixes of our own headers: `X-Service`, and those of compatible services. */
  readonly headerPrefixes: readonly string[];
  /** Header names that may carry the key. */
  readonly keyHeaders: readonly string[];
  readonly compressed: CompressedCache;
  readonly unsent: UnsentAnswers;
  /** Of the chunks of all answers that are handed to the system. */
  readonly chunkTurns: Turns;
  /** Told of a read that failed after its first byte, when it is too late to answer with an error. */
  readonly onFault: OnFault;
}

export async function sendAnswer(
  answer: Answer,
  request: FastifyRequest,
  reply: FastifyReply,
  options: SendOptions,
): Promise<FastifyReply> {
  const { body } = answer;
  try {
    requireUnchanged(request, answer.etag, answer.headers['last-modified']);
  } catch (error) {
    await letGo(body);
    throw error;
  }
  const sending: Sending = { answer, request, reply, options };
  const accepted = answer.compressed === true ? undefined : negotiateEncoding(request.headers['accept-encoding']);
  switch (body.kind) {
    case 'unchanged':
      setHead(sending, accepted, streamedTagOf);
      // The client has stored the answer under the tag that it sent, so that tag goes back.
      reply.header('etag', matchedTag(request.headers['if-none-match'], answer.etag ?? '') ?? reply.getHeader('etag'));
      return reply.code(304).send();
    case 'whole':
      return await sendWhole(sending, body, accepted);
    case 'stream':
      return await sendStream(sending, body, accepted);
    case 'head':
      return sendHead(sending, body.size, accepted);
    case 'file':
      return await sendFile(sending, body);
    case 'partial':
      return await sendStream(sending, body, undefined);
    default:
      return body satisfies never;
  }
}

/** Releases what an answer holds, where it is not sent after all. */
async function letGo(body: AnswerBody): Promise<void> {
  if (body.kind === 'file') await body.release();
  if (body.kind !== 'stream' && body.kind !== 'partial') return;
  // A generator that was never started does not run its `finally`: it is started, and then ended.
  await body.chunks.next();
  await body.chunks.return(undefined);
}

interface Sending {
  readonly answer: Answer;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly options: SendOptions;
}

/**
 * Sets the headers that are known before the answer's bytes.
 * @param tag `tagOf` where the answer is compressed in one piece, `streamedTagOf` where it is compressed while it is read, or may be: a weak
 *   tag promises less
 */
function setHead(
  { answer: { headers, etag }, request, reply, options }: Sending,
  encoding: Encoding | undefined,
  tag: typeof tagOf,
): void {
  for (const [name, value] of answerHeaders(headers, options.headerPrefixes)) reply.header(name, value);
  // A browser, and a client that keeps answers, may serve several keys. What one was given is not for the next.
  const keys = request.principal === undefined ? [] : ['authorization', ...options.keyHeaders];
  reply.header('vary', ['accept', 'accept-encoding', ...keys].join(', ').toLowerCase());
  if (etag !== undefined) reply.header('etag', tag(etag, encoding)).header('accept-ranges', 'bytes');
}

function sendHead(sending: Sending, size: AnswerSize | undefined, encoding: Encoding | undefined): FastifyReply {
  setHead(sending, encoding, streamedTagOf);
  setContent(sending, encoding);
  setSize(sending, size, encoding);
  return sending.reply.send(Readable.from([]));
}

/** Sets length and digest. Both are of the plain bytes, so a compressed answer has neither. */
function setSize(sending: Sending, size: AnswerSize | undefined, encoding: Encoding | undefined): void {
  if (size === undefined || encoding !== undefined) return;
  sending.reply.header('content-length', size.bytes);
  setDigest(sending, size.sha256);
}

function setDigest({ reply }: Sending, sha256: string | undefined): void {
  if (sha256 !== undefined) reply.header('repr-digest', `sha-256=:${sha256}:`);
}

function setContent({ answer, reply }: Sending, encoding: Encoding | undefined): void {
  reply.header('content-type', answer.contentType);
  if (encoding !== undefined) reply.header('content-encoding', encoding);
}

function setRange({ reply }: Sending, { from, to }: ByteSlice, bytes: number): void {
  reply
    .code(206)
    .header('content-range', `bytes ${from}-${to - 1}/${bytes}`)
    .header('content-length', to - from);
}

/** An answer whose bytes are all there, or the part of it that is asked for. */
async function sendWhole(
  sending: Sending,
  { byteChunks, isOwn }: Extract<AnswerBody, { readonly kind: 'whole' }>,
  accepted: Encoding | undefined,
): Promise<FastifyReply> {
  const { answer, request, reply, options } = sending;
  const usual = byteLengthOf(byteChunks) < COMPRESSED_BYTES_MIN ? undefined : accepted;
  const asked = askedRange(request, answer.etag, usual);
  const encoding = asked === undefined ? usual : asked.encoding;
  const whole = encoding === undefined ? byteChunks : [await options.compressed.get(byteChunks, answer.etag, encoding)];
  const bytes = byteLengthOf(whole);
  const slice = asked && resolveRange(asked.range, bytes);
  const sha256 = encoding === undefined ? await wantedDigest(request, whole) : undefined;
  if (request.method !== 'HEAD') options.unsent.takeUntilClosed(request.principal?.keyId ?? '', whole, reply.raw);
  setHead(sending, encoding, tagOf);
  setContent(sending, encoding);
  setDigest(sending, sha256);
  if (slice !== undefined) {
    setRange(sending, slice, bytes);
    request.stats.keepShare((slice.to - slice.from) / bytes);
  }
  const sent = slice === undefined ? whole : [...cutBytes(whole, slice.from, slice.to)];
  const length = byteLengthOf(sent);
  request.stats.countedBytes = length;
  const [only, ...more] = sent;
  if (more.length === 0) {
    if (isOwn === true && only !== undefined && encoding === undefined) {
      reply.raw.once('finish', () => giveBackSent(only, reply.raw));
    }
    return reply.send(only);
  }
  reply.header('content-length', length);
  if (request.method === 'HEAD') return reply.send(Readable.from([]));
  if (isOwn !== true) return reply.send(oneAhead(handedOut(sent, sending)));
  const rest = givenOut(sent);
  const chunks = { first: await rest.next(), rest, onError: () => undefined };
  return reply.send(streamOf(chunks, sending, undefined));
}

/** Compresses a page that the client of this request is about to ask for, as it will want it. The bytes are not read later. */
export function compressAhead(
  byteChunks: ByteChunks,
  etag: string,
  request: FastifyRequest,
  { compressed }: Pick<SendOptions, 'compressed'>,
): void {
  const encoding = negotiateEncoding(request.headers['accept-encoding']);
  if (encoding === undefined || byteLengthOf(byteChunks) < COMPRESSED_BYTES_MIN) return;
  const copy = Buffer.concat(byteChunks);
  const done = () => giveBack(copy);
  // Where it fails, whoever asks for the page is told.
  compressed.get([copy], etag, encoding).then(done, done);
}

/** The digest of a finished answer, for a client that wants it. Between chunks other requests have their turn. */
async function wantedDigest(request: FastifyRequest, byteChunks: ByteChunks): Promise<string | undefined> {
  if (!wantsSha256(request.headers['want-repr-digest'])) return undefined;
  const hash = createHash('sha256');
  for (const [at, chunk] of byteChunks.entries()) {
    if (at > 0) await letOthersRun();
    hash.update(chunk);
  }
  return hash.digest('base64');
}

async function* givenOut(byteChunks: ByteChunks): AsyncGenerator<Uint8Array> {
  yield* byteChunks;
}

/** A file, or the part of it that is asked for. */
async function sendFile(
  sending: Sending,
  { size, chunks, release }: Extract<AnswerBody, { readonly kind: 'file' }>,
): Promise<FastifyReply> {
  const { answer, request } = sending;
  if (request.method === 'HEAD') {
    await release();
    return sendHead(sending, size, undefined);
  }
  const asked = askedRange(request, answer.etag, undefined);
  if (asked === undefined) {
    request.stats.countedBytes = size.bytes;
    return await sendStream(sending, { kind: 'stream', chunks: chunks({ from: 0, to: size.bytes }), size }, undefined);
  }
  let slice: ByteSlice;
  try {
    slice = resolveRange(asked.range, size.bytes);
  } catch (error) {
    await release();
    throw error;
  }
  request.stats.keepShare((slice.to - slice.from) / size.bytes);
  request.stats.countedBytes = slice.to - slice.from;
  return await sendStream(sending, { kind: 'partial', chunks: chunks(slice), slice, size }, undefined);
}

/** An answer, or a part of it, that is read as it is sent. */
async function sendStream(
  sending: Sending,
  body: Extract<AnswerBody, { readonly kind: 'stream' | 'partial' }>,
  encoding: Encoding | undefined,
): Promise<FastifyReply> {
  const { request, reply, options } = sending;
  // The first chunk is read before any header goes out, so that a read that cannot start is an error with a status.
  const first = await body.chunks.next();
  setHead(sending, encoding, streamedTagOf);
  setContent(sending, encoding);
  setSize(sending, body.size, encoding);
  if (body.kind === 'partial') setRange(sending, body.slice, body.size.bytes);
  // If the response is closed already, it never reads the stream that it is given, and the stream would never end.
  const giveBack = () => void body.chunks.return(undefined).catch(() => undefined);
  if (reply.raw.destroyed) giveBack();
  else reply.raw.once('close', giveBack);
  const onError = (error: unknown) => {
    // No fault: the read was ended because the client has gone.
    if (reply.raw.destroyed || isClientGone(error)) return;
    const told = toRequestError(error, request.id);
    request.stats.errorCode = told.code;
    if (isFault(told)) options.onFault({ requestId: request.id, error });
  };
  const chunks = { first, rest: body.chunks, onError };
  return reply.send(streamOf(chunks, sending, encoding));
}

function streamOf(
  chunks: Pick<ChunkStreamOptions, 'first' | 'rest' | 'onError'>,
  sending: Sending,
  encoding: Encoding | undefined,
): Readable {
  if (encoding === undefined) {
    const { reply, request, options } = sending;
    const onBytes = (bytes: number) => {
      request.stats.bodyBytes += bytes;
    };
    return new ChunkStream({ ...chunks, target: reply.raw, turns: options.chunkTurns, onBytes });
  }
  const compressed = compressor(encoding);
  const plain = new ChunkStream({ ...chunks, target: compressed });
  plain.on('error', (error) => compressed.destroy(error));
  compressed.on('close', () => plain.destroy());
  return oneAhead(handedOut(plain.pipe(compressed), sending));
}

/** One chunk waits while one is being sent: the next is read only when the socket has drained. */
function oneAhead(chunks: AsyncIterable<Uint8Array>): Readable {
  return Readable.from(chunks, { objectMode: true, highWaterMark: 1 });
}

/** The same chunks, their bytes counted. */
async function* handedOut(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { request, options }: Sending,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    const turn = options.chunkTurns.nextIfMany();
    if (turn !== undefined) await turn;
    request.stats.bodyBytes += chunk.byteLength;
    yield chunk;
  }
}
