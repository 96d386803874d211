/** Reads a Parquet file's rows as plain values, to compare with rows written out in a test. */
import { DuckDBInstance } from '@duckdb/node-api';

export async function readParquetRows(path: string): Promise<readonly (readonly unknown[])[]> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    const reader = await connection.runAndReadAll('SELECT * FROM read_parquet($1)', [path]);
    return reader.getRowsJS().map((row) => row.map((value) => (typeof value === 'bigint' ? Number(value) : value)));
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** Each value as DuckDB prints it, with all its digits. */
export async function readParquetTexts(path: string): Promise<readonly (readonly (string | null)[])[]> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  try {
    await connection.run("SET TimeZone = 'UTC'");
    const reader = await connection.runAndReadAll('SELECT CAST(COLUMNS(*) AS VARCHAR) FROM read_parquet($1)', [path]);
    return reader.getRowsJS() as (string | null)[][];
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
