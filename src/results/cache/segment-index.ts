/**
 * What a complete pass over a streamed answer has shown: how many bytes it has up to some of its rows. Results are immutable, so it
 * stays right.
 */
import type { ChunkSize } from '../read/chunk.ts';

export interface SegmentIndex {
  /** In order. */
  readonly marks: readonly Mark[];
  /** Of the whole answer. */
  readonly bytes: number;
  /** Of the whole answer, base64; undefined when nobody has asked for it. */
  readonly sha256: string | undefined;
}

/** The answer's first bytes, which end with a row, and these rows. */
export interface Mark extends ChunkSize {
  readonly bytes: number;
}
