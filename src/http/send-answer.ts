/**
 * Sends an answer: status and headers, compressed as the client accepts, at once or as it is read. An answer that fails after its
 * first byte is cut (the connection is aborted), never ended as if it were whole.
 */
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RequestStats } from '../observation/request-stats.ts';
import type { Answer } from '../results/answer.ts';
import { isClientGone } from '../results/limits/client-gone.ts';
import { byteLengthOf } from '../results/read/byte-chunks.ts';
import { encodedEtag } from '../results/respond/cache-policy.ts';

import { answerHeaders } from './answer-headers.ts';
import type { CompressedCache } from './compressed-cache.ts';
import { COMPRESSED_BYTES_MIN, compressor, type Encoding, encodingVersion, negotiateEncoding } from './compression.ts';
import { isFault, type OnFault, toRequestError } from './errors.ts';

export interface SendOptions {
  /** Prefixes of our own headers: `X-Service`, and those of compatible services. */
  readonly headerPrefixes: readonly string[];
  readonly compressed: CompressedCache;
  /** Told of a read that failed after its first byte, when it is too late to answer with an error. */
  readonly onFault: OnFault;
}

export async function sendAnswer(
  answer: Answer,
  request: FastifyRequest,
  reply: FastifyReply,
  options: SendOptions,
): Promise<FastifyReply> {
  const { body, etag } = answer;
  const accepted = negotiateEncoding(request.headers['accept-encoding']);
  // The first chunk is read before any header goes out, so that a read that cannot start is an error with a status.
  const first = body.kind === 'stream' || body.kind === 'partial' ? await body.chunks.next() : undefined;
  const isPlain =
    answer.compressed === true ||
    body.kind === 'partial' ||
    (body.kind === 'whole' && byteLengthOf(body.byteChunks) < COMPRESSED_BYTES_MIN);
  const encoding = isPlain ? undefined : accepted;
  for (const [name, value] of answerHeaders(answer.headers, options.headerPrefixes)) reply.header(name, value);
  reply.header('vary', 'accept, accept-encoding');
  if (etag !== undefined) reply.header('etag', encodedEtag(etag, encoding && encodingVersion(encoding)));
  if (body.kind === 'unchanged') return reply.code(304).send();
  reply.header('content-type', answer.contentType);
  if (encoding !== undefined) reply.header('content-encoding', encoding);
  if (body.kind === 'whole') {
    if (encoding !== undefined) return reply.send(await options.compressed.get(body.byteChunks, etag, encoding));
    const [only, ...more] = body.byteChunks;
    if (more.length === 0) return reply.send(only);
    reply.header('content-length', byteLengthOf(body.byteChunks));
    return reply.send(Readable.from(request.method === 'HEAD' ? [] : body.byteChunks));
  }
  if (etag !== undefined) reply.header('accept-ranges', 'bytes');
  // Of the representation as it is sent: compressed, it would be another.
  if (body.size?.sha256 !== undefined && encoding === undefined) {
    reply.header('repr-digest', `sha-256=:${body.size.sha256}:`);
  }
  if (body.kind === 'partial') {
    const { from, to } = body.slice;
    reply.code(206).header('content-range', `bytes ${from}-${to - 1}/${body.size.bytes}`);
    reply.header('content-length', to - from);
  } else if (body.size !== undefined && encoding === undefined) {
    reply.header('content-length', body.size.bytes);
  }
  if (request.method === 'HEAD') {
    await body.chunks.return(undefined);
    return reply.send(Readable.from([]));
  }
  // A stream that is handed to a response which is closed already is never read, and so would never end by itself.
  const giveBack = () => void body.chunks.return(undefined).catch(() => undefined);
  if (reply.raw.destroyed) giveBack();
  else reply.raw.once('close', giveBack);
  const onError = (error: unknown) => {
    // A client that has gone is no fault: its read was ended because of it.
    if (reply.raw.destroyed || isClientGone(error)) return;
    const told = toRequestError(error, request.id);
    request.stats.errorCode = told.code;
    if (isFault(told)) options.onFault({ requestId: request.id, error });
  };
  return reply.send(streamOf(resumed(first, body.chunks, onError), encoding, request.stats));
}

function streamOf(chunks: AsyncIterable<Uint8Array>, encoding: Encoding | undefined, stats: RequestStats): Readable {
  if (encoding === undefined) return oneAhead(countedBytes(inWrites(chunks), stats));
  const plain = oneAhead(chunks);
  const compressed = compressor(encoding);
  plain.on('error', (error) => compressed.destroy(error));
  compressed.on('close', () => plain.destroy());
  return oneAhead(countedBytes(plain.pipe(compressed), stats));
}

/** Handing so much to the socket takes a few tenths of a millisecond, for which all other requests wait. */
const WRITE_BYTES_MAX = 1024 * 1024;

/** The same bytes in pieces that are written quickly. */
async function* inWrites(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.byteLength; at += WRITE_BYTES_MAX) yield chunk.subarray(at, at + WRITE_BYTES_MAX);
  }
}

/** One chunk waits while one is being sent: the next is read only when the socket has drained. */
function oneAhead(chunks: AsyncIterable<Uint8Array>): Readable {
  return Readable.from(chunks, { objectMode: true, highWaterMark: 1 });
}

async function* countedBytes(chunks: AsyncIterable<Uint8Array>, stats: RequestStats): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    stats.bodyBytes += chunk.byteLength;
    yield chunk;
  }
}

async function* resumed(
  first: IteratorResult<Uint8Array> | undefined,
  rest: AsyncGenerator<Uint8Array>,
  onError: (error: unknown) => void,
): AsyncGenerator<Uint8Array> {
  try {
    if (first !== undefined && first.done !== true) yield first.value;
    yield* rest;
  } catch (error) {
    onError(error);
    throw error;
  } finally {
    await rest.return(undefined);
  }
}
