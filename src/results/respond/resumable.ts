/**
 * Exports that resume. A streamed answer is a sequence of segments: one for some rows each, and a last one for what follows
 * the rows. Results are immutable, so in every pass the same rows end at the same byte. One complete pass marks where some of them do;
 * after that, any range of bytes is answered by reading from the last mark before it. The pass also computes the answer's digest, if a
 * client wants it.
 */

import { createHash } from 'node:crypto';
import { ROW_GROUP_ROWS } from '../../domain/result-set.ts';
import { RequestStats } from '../../observation/request-stats.ts';
import type { Mark, SegmentIndex } from '../cache/segment-index.ts';
import { byteLengthOf, cutBytes } from '../read/byte-chunks.ts';
import type { PageOfRows } from '../read/page.ts';
import type { ByteSlice } from '../request/byte-range.ts';
import type { Encode } from './answer-source.ts';
import { countRows } from './count-rows.ts';

/** An answer that is encoded as it is read. */
export interface StreamSource {
  readonly page: PageOfRows;
  readonly encode: Encode;
}

/** Between two marks lie at least so many rows, or so many bytes. */
const MARK_ROWS = 2 * ROW_GROUP_ROWS;
const MARK_BYTES = 8 * 1024 * 1024;
const BEGINNING: Mark = { bytes: 0, rowCount: 0, cellBytes: 0 };

/** The whole answer. After its last segment, `onIndex` is told what the pass has shown. */
export async function* recordSegments(
  { page, encode }: StreamSource,
  stats: RequestStats,
  signal: AbortSignal,
  onIndex: (segmentIndex: SegmentIndex) => void,
): AsyncGenerator<Uint8Array> {
  const marks: Mark[] = [];
  let last = BEGINNING;
  let [bytes, rowCount, cellBytes] = [0, 0, 0];
  const counted = async function* () {
    for await (const chunk of countRows(page.chunks(signal), page, stats)) {
      rowCount += chunk.rowCount;
      cellBytes += chunk.cellBytes;
      yield chunk;
    }
  };
  for await (const segment of encode(counted())) {
    bytes += byteLengthOf(segment);
    const isFar = rowCount - last.rowCount >= MARK_ROWS || bytes - last.bytes >= MARK_BYTES;
    // What follows the last row is a segment without rows of its own.
    if (isFar && rowCount > last.rowCount) {
      last = { bytes, rowCount, cellBytes };
      marks.push(last);
    }
    yield* segment;
  }
  onIndex({ marks, bytes, sha256: undefined });
}

/**
 * Some bytes of the answer, reading only the rows that they hold, and at most some before them.
 * @param stats counts of each segment's rows the share that is sent
 */
export async function* readSlice(
  { page, encode }: StreamSource,
  { marks }: SegmentIndex,
  slice: ByteSlice,
  stats: RequestStats,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const skipped = marks.findLast(({ bytes }) => bytes <= slice.from) ?? BEGINNING;
  let start = skipped.bytes;
  let isSkipped = skipped.rowCount > 0;
  /** Of one segment. */
  const read = new RequestStats();
  for await (const segment of encode(countRows(page.chunks(signal, skipped), page, read))) {
    // The first segment stands for the rows that were skipped, and has not their bytes.
    if (isSkipped) {
      isSkipped = false;
      continue;
    }
    // Once it is handed out, the segment's memory belongs to whoever takes it.
    const from = start;
    start += byteLengthOf(segment);
    const sent = Math.min(start, slice.to) - Math.max(from, slice.from);
    read.keepShare(Math.max(0, sent) / Math.max(1, start - from));
    stats.add(read);
    // The next segment is counted by itself.
    read.clearCounts();
    yield* cutBytes(segment, slice.from - from, slice.to - from);
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
