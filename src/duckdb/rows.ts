/** The rows of a statement that has run, as JavaScript has them. */
import {
  DuckDBBlobVector,
  DuckDBListVector,
  type DuckDBMaterializedResult,
  DuckDBUIntegerVector,
  type DuckDBValue,
  type DuckDBVector,
} from '@duckdb/node-api';
import accessors from '@duckdb/node-api/lib/vectors/dataAccessors.js';
import { letOthersRun } from '../domain/time.ts';
import { nativeResults } from './native-results.ts';
import type { Statement } from './statement.ts';
import { vectorBytes } from './vector-bytes.ts';

// The driver's own drops a U+FEFF at the beginning of a text: a column's name would be that of another.
(accessors as { textDecoder: unknown }).textDecoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** A row's values. A BLOB is its bytes, and a list of UINTEGER, of which none may be null, its numbers. */
export type Row = readonly (DuckDBValue | Uint8Array | Uint32Array)[];

/** So many bytes are copied in some milliseconds: into fresh memory, which takes twice as long where other programs want it, too. */
const BYTES_PER_TURN = 2 * 1024 * 1024;

/** A chunk has at most 2,048 rows, and is read in a turn of its own; of long values there are few in a turn. */
export async function rowsOf(
  result: DuckDBMaterializedResult,
  { isLong }: Pick<Statement, 'isLong'> = {},
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  let bytes = 0;
  for (let index = 0; index < result.chunkCount; index += 1) {
    if (index > 0) await letOthersRun();
    const chunk = isLong ? await result.fetchChunk() : result.getChunk(index);
    if (chunk === null) throw new Error(`the answer has ${result.chunkCount} chunks, but only ${index} came`);
    const vectors = Array.from({ length: chunk.columnCount }, (_, column) => chunk.getColumnVector(column));
    for (let row = 0; row < chunk.rowCount; row += 1) {
      if (bytes >= BYTES_PER_TURN) {
        await letOthersRun();
        bytes = 0;
      }
      const values = vectors.map((vector) => valueAt(vector, row));
      bytes += values.reduce<number>((sum, value) => sum + (value instanceof Uint8Array ? value.byteLength : 0), 0);
      rows.push(values);
    }
  }
  return rows;
}

function valueAt(vector: DuckDBVector, row: number): Row[number] {
  if (vector instanceof DuckDBBlobVector) return bytesAt(vector, row);
  const numbers = vector instanceof DuckDBListVector ? vector.getItemVector(row) : null;
  return numbers instanceof DuckDBUIntegerVector ? new Uint32Array(vectorBytes(numbers).buffer) : vector.getItem(row);
}

/** Short bytes lie within the chunk's memory, which does not outlive it; longer ones come as a copy, which is made only once. */
const INLINE_BYTES_MAX = 12;

function bytesAt(vector: DuckDBBlobVector, index: number): Uint8Array | null {
  const bytes = vector.getItemBytes(index);
  if (bytes === null) return null;
  nativeResults.count(bytes.byteLength);
  return bytes.byteLength > INLINE_BYTES_MAX ? bytes : bytes.slice();
}
