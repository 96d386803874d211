/** Rows of queries over files of source tables, for tests of how the engine reads them. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { parseColumnType } from '../src/domain/column-type.ts';
import { runQuery } from '../src/engine/duckdb/run-query.ts';
import type { SourceTable } from '../src/engine/engine.ts';
import { readParquetRows } from './contract/read-parquet-rows.ts';
import { sleep } from './real-time.ts';

/** A folder of its own for each file of tests, removed at its end. */
export const root = await mkdtemp(join(tmpdir(), 'qrs-sources-'));
after(() => rm(root, { recursive: true, force: true }));

type SourceFiles = Readonly<Record<string, string | Buffer>>;

const EVENTS: SourceTable = {
  name: 'chain.events',
  columns: [
    { name: 'who', type: parseColumnType('varchar') },
    { name: 'shares', type: parseColumnType('uint256') },
  ],
};

/** @returns the folder that has them */
export async function writeSources(files: SourceFiles): Promise<string> {
  // A name with everything that DuckDB would read as a pattern or as the end of a text.
  const sourcesDirectory = await mkdtemp(join(root, "it's [all] *sources?-"));
  for (const [name, text] of Object.entries(files)) {
    const path = join(sourcesDirectory, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  return sourcesDirectory;
}

/** What the process of a query does, in this one: a process for each of some hundred cases would take minutes. */
async function rowsIn(sourcesDirectory: string, sql: string, table: SourceTable) {
  const path = join(await mkdtemp(join(root, 'rows-')), 'rows.parquet');
  const tempDirectory = await mkdtemp(join(root, 'temp-'));
  const limits = { threads: 2, memoryLimit: '128MB', tempSizeMax: '0B' };
  await runQuery({ sql, sources: [table], path, sourcesDirectory, tempDirectory, ...limits }, sleep);
  return await readParquetRows(path);
}

export async function rowsOver(files: SourceFiles, sql: string, table: SourceTable = EVENTS) {
  return await rowsIn(await writeSources(files), sql, table);
}

/** The rows of a query over a table of one value. */
export async function rowsOverParquet(value: string, declared: string, sql: string) {
  const sourcesDirectory = await mkdtemp(join(root, 'typed-'));
  await mkdir(join(sourcesDirectory, 'chain'));
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(`COPY (SELECT ${value} AS n) TO '${join(sourcesDirectory, 'chain', 'sums.parquet')}'`);
  connection.closeSync();
  instance.closeSync();
  const table = { name: 'chain.sums', columns: [{ name: 'n', type: parseColumnType(declared) }] };
  return await rowsIn(sourcesDirectory, sql, table);
}
