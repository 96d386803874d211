/** All benchmarks, one after the other, or those named: `npm run bench`, `npm run bench pages export`. */
import { spawnSync } from 'node:child_process';
import { availableParallelism, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import { version } from '@duckdb/node-api';
import { print } from './measure.ts';

const ALL = [
  'pages',
  'cold-pages',
  'big-result',
  'expressions',
  'caches',
  'concurrency',
  'health',
  'walk',
  'walks',
  'rowfiles',
  'sample',
  'export',
  'publish',
  'producers',
  'wide',
  'datasets',
  'startup',
  'loop',
  'workers',
  'replicas',
  'rivals',
  'lookups',
  'peers',
];
const named = process.argv.slice(2);
const machine = `${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GB, ${process.platform} ${process.arch}`;
const [load = 0] = loadavg();
print(`${new Date().toISOString().slice(0, 10)}, ${machine}, Node ${process.versions.node}, DuckDB ${version()}`);
print(`load before the first: ${load.toFixed(1)} (above 0.5 something else is running, and the figures say little)`);
for (const name of named.length > 0 ? named : ALL) {
  print(`\n${name}`);
  const { status } = spawnSync(process.execPath, [join(import.meta.dirname, `${name}.ts`)], { stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}
