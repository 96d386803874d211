/** Publishing a gigabyte as CSV, NDJSON and Parquet: seconds against DuckDB's own conversion of the file, and peak memory. */
import { spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { print, report, watchMemory } from './measure.ts';
import { DATA, DATA_DIR, duckDb, publishedRows, sourceFile } from './service.ts';

const GIGABYTE = 1e9;
const ROWS = { csv: 7_500_000, json: 3_700_000, parquet: 18_000_000 } as const;

await publishedRows(1000);
const connection = await duckDb(1);
for (const format of ['csv', 'json', 'parquet'] as const) {
  const path = await sourceFile(ROWS[format], format);
  const size = statSync(path).size;
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
  const seconds = (performance.now() - start) / 1000;
  if (code !== 0) throw new Error(`publishing ${path} failed`);
  const floorStart = performance.now();
  await connection.run(`COPY (FROM '${path}') TO '${join(DATA, 'floor.parquet')}' (FORMAT parquet, COMPRESSION zstd)`);
  const floor = (performance.now() - floorStart) / 1000;
  report(
    `publish ${(size / GIGABYTE).toFixed(2)} GB of ${format} / COPY to one Parquet file`,
    seconds / floor,
    '≤ 3',
    `${seconds.toFixed(1)} s / ${floor.toFixed(1)} s, peak ${peak.toFixed(0)} MB`,
  );
}
print('the floor infers types from a sample, checks nothing, and writes one file; publishing loses nothing and hashes');
connection.closeSync();
