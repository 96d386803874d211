/** Encoded rows of an answer, some at a time. */
import { sumOf } from '../../domain/sum-of.ts';
import { ROW_SEPARATOR } from '../compile/row-encoding.ts';
import type { TextFormat } from '../request/format.ts';
import type { ByteChunks } from './byte-chunks.ts';

export interface ChunkSize {
  /** Of a chunk never 0. */
  readonly rowCount: number;
  readonly cellBytes: number;
}

export interface Chunk extends ChunkSize {
  /** Encoded rows with separators between them, none at either end. Of rows that were skipped there are none. */
  readonly byteChunks: ByteChunks;
}

/** The chunks as one. */
export function joinChunks(chunks: readonly Chunk[], format: TextFormat): Chunk {
  const separator = Buffer.from(ROW_SEPARATOR[format]);
  return {
    byteChunks: chunks.flatMap(({ byteChunks }, index) => (index === 0 ? byteChunks : [separator, ...byteChunks])),
    rowCount: sumOf(chunks, 'rowCount'),
    cellBytes: sumOf(chunks, 'cellBytes'),
  };
}
