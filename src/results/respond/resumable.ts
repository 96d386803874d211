/**
 * Exports that resume. A streamed answer is a sequence of segments, one for each range of rows and a last one for what follows
 * the rows; results are immutable, so every pass gives the same segments. One complete pass therefore tells how long each
 * is and how long the whole is; with that, any range of bytes is answered by reading only the rows it needs. A pass on behalf of a
 * client that wants the digest takes that, too.
 */

import { createHash } from 'node:crypto';
import { RequestStats } from '../../observation/request-stats.ts';
import { type ByteChunks, byteLengthOf, cutBytes } from '../read/byte-chunks.ts';
import type { PageOfRows } from '../read/page.ts';
import type { Chunk, ChunkSize } from '../read/part-reader.ts';
import type { ByteSlice } from '../request/byte-range.ts';
import { countRows } from './respond.ts';

/** What a complete pass over an answer has shown. */
export interface SegmentIndex {
  readonly segmentBytes: readonly number[];
  readonly chunks: readonly ChunkSize[];
  readonly bytes: number;
  /** Of the whole answer, base64; undefined when nobody has wanted it. */
  readonly sha256: string | undefined;
}

/** Makes the answer's segments from the page's chunks. */
export type Encode = (chunks: AsyncIterable<Chunk>) => AsyncGenerator<ByteChunks>;

/** The whole answer; when the last segment has been taken, `onPassage` is told what the pass has shown. */
export async function* recordSegments(
  page: PageOfRows,
  encode: Encode,
  stats: RequestStats,
  signal: AbortSignal,
  onPassage: (segmentIndex: SegmentIndex) => void,
): AsyncGenerator<Uint8Array> {
  const segmentBytes: number[] = [];
  const chunks: ChunkSize[] = [];
  let bytes = 0;
  const noted = async function* () {
    for await (const chunk of countRows(page.chunks(signal), page, stats)) {
      chunks.push({ rowCount: chunk.rowCount, cellBytes: chunk.cellBytes });
      yield chunk;
    }
  };
  for await (const segment of encode(noted())) {
    const length = byteLengthOf(segment);
    segmentBytes.push(length);
    bytes += length;
    yield* segment;
  }
  onPassage({ segmentBytes, chunks, bytes, sha256: undefined });
}

/** Some bytes of the answer, reading only the rows that they hold. */
export async function* readSlice(
  page: PageOfRows,
  encode: Encode,
  segmentIndex: SegmentIndex,
  slice: ByteSlice,
  stats: RequestStats,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let start = 0;
  let skipped = 0;
  for (const bytes of segmentIndex.segmentBytes) {
    if (start + bytes > slice.from) break;
    start += bytes;
    skipped += 1;
  }
  const chunks = countRows(page.chunks(signal, segmentIndex.chunks.slice(0, skipped)), page, stats);
  let index = 0;
  for await (const segment of encode(chunks)) {
    index += 1;
    // Of a segment before the slice only the sizes were needed, for what follows the rows; its bytes are not the real ones.
    if (index <= skipped) continue;
    yield* cutBytes(segment, slice.from - start, slice.to - start);
    start += byteLengthOf(segment);
    if (start >= slice.to) return;
  }
}

/** A pass for nothing but what it shows. Taking the digest makes it a tenth longer. */
export async function measureSegments(
  page: PageOfRows,
  encode: Encode,
  withDigest: boolean,
  signal: AbortSignal,
): Promise<SegmentIndex> {
  let shown: SegmentIndex | undefined;
  const pass = recordSegments(page, encode, new RequestStats(), signal, (segmentIndex) => {
    shown = segmentIndex;
  });
  const hash = withDigest ? createHash('sha256') : undefined;
  for await (const piece of pass) hash?.update(piece);
  if (shown === undefined) throw new Error('a complete pass shows its passage');
  return { ...shown, sha256: hash?.digest('base64') };
}
