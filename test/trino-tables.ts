/** Tables and engines on the Trino that `npm run test:trino` has started: folders of Parquet as tables, and views that give them their types. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { formatColumnType } from '../src/domain/column-type.ts';
import type { SourceTable } from '../src/engine/engine.ts';
import { TrinoEngine } from '../src/engine/trino/trino-engine.ts';
import { sleep } from './real-time.ts';
import { runStatement, TRINO_CATALOG } from './trino-server.ts';

const { TEST_TRINO_URL: origin, TEST_TRINO_TABLES: tables = '' } = process.env;

/** What a test is skipped with where no Trino was started for it. */
export const NO_TRINO = origin === undefined ? 'it takes a Trino: npm run test:trino' : undefined;

let folders = 0;

/** @returns what a table is made over: the path of its folder, and as Trino calls it */
async function newFolder(): Promise<{ readonly path: string; readonly location: string }> {
  const name = `${process.pid}-${++folders}`;
  await mkdir(join(tables, name));
  return { path: join(tables, name), location: `local:///tables/${name}` };
}

export function trinoEngine(tempDirectory: string, timeLimitMillis = 120_000): TrinoEngine {
  return new TrinoEngine({
    address: {
      origin: origin ?? '',
      user: 'qrs',
      password: undefined,
      token: undefined,
      catalog: TRINO_CATALOG,
      schema: undefined,
      certificates: undefined,
    },
    tempDirectory,
    threads: 2,
    memoryBytes: 256_000_000,
    tempBytesMax: 1e9,
    resultBytesMax: 1e9,
    timeLimitMillis,
    queryMemoryBytes: 128_000_000,
    sleep,
  });
}

/** Runs statements that set something up. */
export async function setUp(...statements: readonly string[]): Promise<void> {
  for (const sql of statements) await runStatement(origin ?? '', sql);
}

/** A table of texts, as the service's sources are in CSV, under a view in which times are times. */
export async function createFromCsv(name: string, csvPath: string): Promise<void> {
  const [schema, table] = name.split('.');
  const { path, location } = await newFolder();
  const columns = await withDuckDb(async (ask) => {
    await ask(
      `COPY (FROM read_csv('${csvPath}', header = true, all_varchar = true)) TO '${join(path, 'part.parquet')}'`,
    );
    return (await ask(`DESCRIBE FROM '${join(path, 'part.parquet')}'`)).map(([column]) => `"${column}"`);
  });
  const raw = `raw_${process.pid}_${folders}`;
  const values = columns.map((column) => {
    return column.endsWith('_at"') ? `CAST(${column} AS timestamp(3) with time zone) AS ${column}` : column;
  });
  await setUp(
    `CREATE SCHEMA IF NOT EXISTS ${schema}`,
    `CREATE SCHEMA ${raw}`,
    `CREATE TABLE ${raw}.${table} (${columns.map((column) => `${column} varchar`).join(', ')}) WITH (format = 'PARQUET', external_location = '${location}')`,
    `CREATE OR REPLACE VIEW ${name} AS SELECT ${values.join(', ')} FROM ${raw}.${table}`,
  );
}

/** A source of the datasets, from its Parquet file: times get their zone in a view. */
export async function createFromParquet({ name, columns }: SourceTable, parquetPath: string): Promise<void> {
  const [schema, table] = name.split('.');
  const { path, location } = await newFolder();
  await withDuckDb((ask) => ask(`COPY (FROM '${parquetPath}') TO '${join(path, 'part.parquet')}'`));
  const raw = columns.map(({ name: column, type }) => {
    if (type.kind === 'uint256') return `${column} varchar`;
    return `${column} ${type.kind === 'timestamp' ? 'timestamp(3)' : formatColumnType(type)}`;
  });
  const values = columns.map(({ name: column, type }) =>
    type.kind === 'timestamp' ? `with_timezone(${column}, 'UTC') AS ${column}` : column,
  );
  await setUp(
    `CREATE SCHEMA IF NOT EXISTS ${schema}`,
    `CREATE SCHEMA IF NOT EXISTS raw_${schema}`,
    `CREATE TABLE raw_${schema}.${table} (${raw.join(', ')}) WITH (format = 'PARQUET', external_location = '${location}')`,
    `CREATE OR REPLACE VIEW ${name} AS SELECT ${values.join(', ')} FROM raw_${schema}.${table}`,
  );
}

type Ask = (sql: string) => Promise<readonly (readonly unknown[])[]>;

async function withDuckDb<T>(work: (ask: Ask) => Promise<T>): Promise<T> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    return await work(async (sql) => (await connection.runAndReadAll(sql)).getRowsJS());
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
