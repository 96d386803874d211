/**
 * Runs a dataset over sources that a test writes out: the SQL as it is shipped, by the embedded engine, over a folder of small
 * CSV and NDJSON files.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after } from 'node:test';
import { asOfValue, type Dataset } from '../../src/datasets/dataset.ts';
import type { Column } from '../../src/domain/result-set.ts';
import { DuckDbEngine } from '../../src/engine/duckdb/duckdb-engine.ts';
import { readParquetRows } from '../contract/read-parquet-rows.ts';
import { sleep } from '../real-time.ts';

export type Row = Readonly<Record<string, unknown>>;

/** `schema.table` → its rows. A table that is left out is empty. */
export type Sources = Readonly<Record<string, readonly Row[]>>;

const root = await mkdtemp(join(tmpdir(), 'qrs-datasets-'));
after(() => rm(root, { recursive: true, force: true }));

export function openEngine(sourcesDirectory: string): DuckDbEngine {
  return new DuckDbEngine({
    sourcesDirectory,
    tempDirectory: join(root, 'temp'),
    threads: 2,
    memoryBytes: 1e9,
    tempBytesMax: 1e9,
    resultBytesMax: 1e9,
    sleep,
    timeLimitMillis: 60_000,
  });
}

/** A new folder, deleted after the file's tests. */
export function newFolder(): Promise<string> {
  return mkdtemp(join(root, 'folder-'));
}

export interface Answer {
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
}

/** The dataset's rows over the sources in a folder. */
export async function runDataset(dataset: Dataset, sourcesDirectory: string, asOf: string): Promise<Answer> {
  await using engine = openEngine(sourcesDirectory);
  const path = join(await newFolder(), 'result.parquet');
  const { sql, sources } = dataset;
  const query = { sql, parameters: [asOfValue(Date.parse(asOf))], sources };
  const { columns } = await engine.materialize(query, path, new AbortController().signal);
  const names = columns.map((column) => column.name);
  const rows = await readParquetRows(path);
  return { columns, rows: rows.map((row) => Object.fromEntries(row.map((value, i) => [names[i], value]))) };
}

/** The dataset's rows over these sources. */
export async function rowsOver(dataset: Dataset, sources: Sources, asOf: string): Promise<readonly Row[]> {
  const directory = await newFolder();
  for (const source of dataset.sources) {
    const rows = sources[source.name] ?? [];
    const names = source.columns.map((column) => column.name);
    const format = source.columns.some((column) => column.type.kind === 'array') ? 'ndjson' : 'csv';
    const lines =
      format === 'ndjson'
        ? rows.map((row) => JSON.stringify(row))
        : [names.join(','), ...rows.map((row) => names.map((name) => row[name] ?? '').join(','))];
    // A row of nulls gives an empty NDJSON table its columns. No dataset makes a row of it.
    if (lines.length === 0) lines.push(JSON.stringify(Object.fromEntries(names.map((name) => [name, null]))));
    const path = join(directory, `${source.name.replace('.', '/')}.${format}`);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, `${lines.join('\n')}\n`);
  }
  return (await runDataset(dataset, directory, asOf)).rows;
}
