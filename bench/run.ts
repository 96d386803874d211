/** All benchmarks, one after the other, or those named: `npm run bench`, `npm run bench pages export`. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const ALL = [
  'pages',
  'expressions',
  'concurrency',
  'walk',
  'sample',
  'export',
  'publish',
  'datasets',
  'startup',
  'rivals',
];
const named = process.argv.slice(2);
for (const name of named.length > 0 ? named : ALL) {
  const { status } = spawnSync(process.execPath, [join(import.meta.dirname, `${name}.ts`)], { stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}
