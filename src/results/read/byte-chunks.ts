/** Bytes in one or several arrays. Large arrays are never copied only to make one of them. */
import { letOthersRun } from '../../domain/time.ts';
import { giveBack } from '../give-back.ts';

export type ByteChunks = readonly Uint8Array[];

/** Bytes that have nearly all of their memory are not copied. */
const OWN_RATIO_MAX = 1.1;

export function byteLengthOf(byteChunks: ByteChunks): number {
  return byteChunks.reduce((sum, chunk) => sum + chunk.byteLength, 0);
}

/**
 * The same bytes, in one array with memory of its own if they are at most so many. The memory that they had is given back.
 * @param byteChunks memory of nobody else
 */
export function gather(byteChunks: ByteChunks, bytesMax: number): ByteChunks {
  if (byteLengthOf(byteChunks) > bytesMax) return byteChunks;
  const own = ownBytes(byteChunks);
  for (const chunk of byteChunks) if (chunk !== own) giveBack(chunk);
  return [own];
}

/**
 * The same bytes for whoever keeps them, in memory that nobody else has a part of. A part of Node's pool of 64 KB, or of a block of rows,
 * would keep all of it in memory, which no cache that counts bytes sees.
 */
export function ownBytes(byteChunks: ByteChunks): Uint8Array {
  const [only] = byteChunks;
  const bytes = byteLengthOf(byteChunks);
  if (only !== undefined && byteChunks.length === 1 && only.buffer.byteLength <= bytes * OWN_RATIO_MAX) return only;
  const own = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  for (const chunk of byteChunks) {
    own.set(chunk, at);
    at += chunk.byteLength;
  }
  return own;
}

/** So many bytes are copied to new memory in some milliseconds. */
const BYTES_PER_TURN = 2 * 1024 * 1024;

/** The same bytes in one array. Other requests are answered while many are copied. */
export async function join(byteChunks: ByteChunks): Promise<Uint8Array> {
  const [first] = byteChunks;
  if (byteChunks.length === 1 && first !== undefined) return first;
  const bytes = byteLengthOf(byteChunks);
  const joined = Buffer.allocUnsafeSlow(bytes);
  for (let from = 0; from < bytes; from += BYTES_PER_TURN) {
    if (from > 0) await letOthersRun();
    let at = from;
    for (const chunk of cutBytes(byteChunks, from, from + BYTES_PER_TURN)) {
      joined.set(chunk, at);
      at += chunk.byteLength;
    }
  }
  return joined;
}

/** The bytes from `from` to `to` (exclusive), or as many of them as exist. */
export function* cutBytes(byteChunks: ByteChunks, from: number, to: number): Generator<Uint8Array> {
  let start = 0;
  for (const chunk of byteChunks) {
    const end = start + chunk.byteLength;
    if (end > from && start < to) yield chunk.subarray(Math.max(0, from - start), Math.min(end, to) - start);
    start = end;
  }
}
