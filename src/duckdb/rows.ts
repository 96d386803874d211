/** The rows of a statement that has run, as JavaScript has them. */
import {
  DuckDBBlobVector,
  DuckDBListVector,
  type DuckDBMaterializedResult,
  DuckDBUIntegerVector,
  type DuckDBValue,
  type DuckDBVector,
} from '@duckdb/node-api';
import { letOthersRun } from '../domain/time.ts';
import { nativeResults } from './native-results.ts';
import { vectorBytes } from './vector-bytes.ts';

/** A row's values. A BLOB is its bytes, and a list of UINTEGER, of which none may be null, its numbers. */
export type Row = readonly (DuckDBValue | Uint8Array | Uint32Array)[];

/** A chunk has at most 2,048 rows, and is read in a turn of its own. */
export async function rowsOf(result: DuckDBMaterializedResult): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (let index = 0; index < result.chunkCount; index += 1) {
    if (index > 0) await letOthersRun();
    const chunk = result.getChunk(index);
    const vectors = Array.from({ length: chunk.columnCount }, (_, column) => chunk.getColumnVector(column));
    for (let row = 0; row < chunk.rowCount; row += 1) {
      rows.push(vectors.map((vector) => valueAt(vector, row)));
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
