/**
 * Publishing a gigabyte as CSV, NDJSON and Parquet, and a Parquet file of 228 MB: seconds against DuckDB's own conversion of the file, and
 * peak memory. The start of the command, which takes as long for a file of ten rows, is measured apart for the small file.
 * `node bench/publish.ts small` makes only the small file, `node bench/publish.ts csv json` only these.
 */
import { spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { print, quantile, report, watchMemory } from './measure.ts';
import { DATA, DATA_DIR, duckDb, publishedRows, sourceFile } from './service.ts';

const GIGABYTE = 1e9;
const ROWS = { csv: 7_500_000, json: 3_700_000, parquet: 18_000_000 } as const;
const SMALL_ROWS = 3_000_000;
const SMALL_TURNS = 5;

await publishedRows(1000);
const connection = await duckDb(1);
const named = process.argv.slice(2);
const isAsked = (part: string) => named.length === 0 || named.includes(part);
if (isAsked('small')) await publishSmall();
for (const format of (['csv', 'json', 'parquet'] as const).filter(isAsked)) {
  const path = await sourceFile(ROWS[format], format);
  const { seconds, peak } = await publish(path);
  const floor = await copy(path);
  report(
    `publish ${(statSync(path).size / GIGABYTE).toFixed(2)} GB of ${format} / COPY to one Parquet file`,
    seconds / floor,
    '≤ 3',
    `${seconds.toFixed(1)} s / ${floor.toFixed(1)} s, peak ${peak.toFixed(0)} MB`,
  );
}
print('the floor infers types from a sample, checks nothing, and writes one file; publishing loses nothing and hashes');
connection.closeSync();

async function publishSmall(): Promise<void> {
  const [path, few] = [await sourceFile(SMALL_ROWS), await sourceFile(10)];
  const turns: { readonly ours: number; readonly floor: number; readonly start: number }[] = [];
  for (let turn = 0; turn < SMALL_TURNS; turn += 1) {
    const start = (await publish(few)).seconds;
    turns.push({ start, ours: (await publish(path)).seconds - start, floor: await copy(path) });
  }
  const median = (of: 'ours' | 'floor' | 'start') =>
    quantile(
      turns.map((turn) => turn[of]),
      0.5,
    );
  report(
    `publish ${Math.round(statSync(path).size / 1e6)} MB of parquet, start apart / COPY to one Parquet file`,
    median('ours') / median('floor'),
    '≤ 1.5',
    `${median('ours').toFixed(2)} s / ${median('floor').toFixed(2)} s; start, and a file of ten rows, ${median('start').toFixed(2)} s`,
  );
}

async function publish(path: string): Promise<{ readonly seconds: number; readonly peak: number }> {
  const start = performance.now();
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, '..', 'bin', 'qrs.js'), 'publish', path, '--query', '1000'],
    {
      env: { ...process.env, QRS_DATA_DIR: DATA_DIR },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  const memory = watchMemory(child.pid ?? 0);
  const code = await new Promise((resolve) => child.once('exit', resolve));
  const peak = memory.stop();
  if (code !== 0) throw new Error(`publishing ${path} failed`);
  return { seconds: (performance.now() - start) / 1000, peak };
}

/** @returns seconds */
async function copy(path: string): Promise<number> {
  const start = performance.now();
  await connection.run(`COPY (FROM '${path}') TO '${join(DATA, 'floor.parquet')}' (FORMAT parquet, COMPRESSION zstd)`);
  return (performance.now() - start) / 1000;
}
