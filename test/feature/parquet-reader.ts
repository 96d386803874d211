/** Reads a Parquet answer as a client would: by its own names and types, with a DuckDB of its own. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance, type Json } from '@duckdb/node-api';

export interface ReadParquet {
  readonly names: readonly string[];
  /** In DuckDB's names. */
  readonly types: readonly string[];
  /** Bigints, decimals and dates as text; NaN and infinities, too. */
  readonly rows: readonly (readonly Json[])[];
}

/** The file's key-value metadata, but for what Arrow puts there. */
export async function readParquetMetadata(bytes: Uint8Array): Promise<Readonly<Record<string, string>>> {
  return await withFile(bytes, async (connection, path) => {
    const text = 'SELECT decode(key), decode(value) FROM parquet_kv_metadata($1)';
    const reader = await connection.runAndReadAll(text, [path]);
    return Object.fromEntries(reader.getRowsJson().map(([key, value]) => [String(key), String(value)]));
  });
}

/** @param select what to read of the file's rows, which are called `rows`; they come in the file's order */
export async function readParquet(bytes: Uint8Array, select = '*'): Promise<ReadParquet> {
  return await withFile(bytes, async (connection, path) => {
    await connection.run(`SET TimeZone = 'UTC'`);
    const reader = await connection.runAndReadAll(`WITH rows AS (FROM read_parquet($1)) SELECT ${select} FROM rows`, [
      path,
    ]);
    return {
      names: reader.columnNames(),
      types: reader.columnTypes().map((type) => type.alias ?? String(type)),
      rows: reader.getRowsJson(),
    };
  });
}

async function withFile<T>(
  bytes: Uint8Array,
  read: (connection: DuckDBConnection, path: string) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'qrs-parquet-'));
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  try {
    const path = join(folder, 'answer.parquet');
    await writeFile(path, bytes);
    return await read(connection, path);
  } finally {
    connection.closeSync();
    instance.closeSync();
    await rm(folder, { recursive: true, force: true });
  }
}
