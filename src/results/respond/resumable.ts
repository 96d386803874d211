/**
 * Exports that resume. A streamed answer is a sequence of segments: one for each range of rows, and a last one for what follows
 * the rows. Results are immutable, so every pass gives the same segments. One complete pass shows the length of each segment;
 * after that, any range of bytes is answered by reading only the rows in it. The pass also computes the answer's digest, if a
 * client wants it.
 */

import { createHash } from 'node:crypto';
import { RequestStats } from '../../observation/request-stats.ts';
import type { SegmentIndex } from '../cache/segment-index.ts';
import { byteLengthOf, cutBytes } from '../read/byte-chunks.ts';
import type { ChunkSize } from '../read/chunk.ts';
import type { PageOfRows } from '../read/page.ts';
import type { ByteSlice } from '../request/byte-range.ts';
import type { Encode } from './answer-source.ts';
import { countRows } from './count-rows.ts';

/** An answer that is encoded as it is read. */
export interface StreamSource {
  readonly page: PageOfRows;
  readonly encode: Encode;
}

/** The whole answer. After its last segment, `onIndex` is told the lengths of the segments. */
export async function* recordSegments(
  { page, encode }: StreamSource,
  stats: RequestStats,
  signal: AbortSignal,
  onIndex: (segmentIndex: SegmentIndex) => void,
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
  onIndex({ segmentBytes, chunks, bytes, sha256: undefined });
}

/** Some bytes of the answer, reading only the rows that they hold. */
export async function* readSlice(
  { page, encode }: StreamSource,
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
    // The slice begins after this segment, which was encoded without its rows. Only its size counts.
    if (index <= skipped) continue;
    yield* cutBytes(segment, slice.from - start, slice.to - start);
    start += byteLengthOf(segment);
    if (start >= slice.to) return;
  }
}

/** A pass that only measures, and sends nothing. The digest makes it a tenth longer. */
export async function measureSegments(
  source: StreamSource,
  withDigest: boolean,
  signal: AbortSignal,
): Promise<SegmentIndex> {
  let shown: SegmentIndex | undefined;
  const pass = recordSegments(source, new RequestStats(), signal, (segmentIndex) => {
    shown = segmentIndex;
  });
  const hash = withDigest ? createHash('sha256') : undefined;
  for await (const bytes of pass) hash?.update(bytes);
  if (shown === undefined) throw new Error('a complete pass gave no segment index');
  return { ...shown, sha256: hash?.digest('base64') };
}
