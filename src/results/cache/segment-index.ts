/**
 * What a complete pass over a streamed answer has shown: the length of each of its segments. Results are immutable, so it stays right.
 */
import type { ChunkSize } from '../read/chunk.ts';

export interface SegmentIndex {
  readonly segmentBytes: readonly number[];
  readonly chunks: readonly ChunkSize[];
  /** Of the whole answer. */
  readonly bytes: number;
  /** Of the whole answer, base64; undefined when nobody has asked for it. */
  readonly sha256: string | undefined;
}
