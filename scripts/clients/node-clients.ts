/** Clients on Node: its own fetch and what the project depends on, and packages of npm in a folder of their own. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE } from '../venv.ts';
import { type Attempt, output } from './attempt.ts';
import type { Alike } from './table.ts';

const PROGRAMS = join(import.meta.dirname, 'node');
const PACKAGES = ['papaparse', 'd3-dsv', 'hyparquet', 'hyparquet-compressors'];
const INSTALL_MILLIS = 300_000;
const CSV: readonly Alike[] = ['null and empty text are one to it'];

const HERE: readonly Omit<Attempt, 'run'>[] = [
  { client: 'Node fetch', what: 'JSON, `response.json()`, with `bigints=string`' },
  { client: 'Node fetch', what: 'NDJSON, `JSON.parse` with a reviver that keeps digits' },
  { client: 'DuckDB (Node)', what: 'Parquet, of a download' },
];
const HERE_PROGRAMS = ['fetch-json', 'fetch', 'duckdb'];
const INSTALLED: readonly (Omit<Attempt, 'run'> & { readonly program: string })[] = [
  { client: 'PapaParse', what: 'CSV, `header: true`', alike: CSV, program: 'papaparse' },
  { client: 'd3-dsv', what: 'CSV, `csvParse`', alike: CSV, program: 'd3-dsv' },
  {
    client: 'hyparquet',
    what: 'Parquet, by ranges, a parser for microseconds',
    alike: ['decimals are doubles to it'],
    program: 'hyparquet',
  },
];

/** @param installed only what is there already */
export function nodeClients(installed: boolean): readonly Attempt[] {
  const here = HERE.map((attempt, i) => withProgram(attempt, HERE_PROGRAMS[i] ?? '', {}));
  if (installed) return here;
  const packages = installPackages();
  const others = INSTALLED.map(({ program, ...attempt }) =>
    'folder' in packages
      ? withProgram(attempt, program, { PACKAGES: packages.folder })
      : { ...withProgram(attempt, program, {}), skip: packages.problem },
  );
  return [...here, ...others];
}

function withProgram(attempt: Omit<Attempt, 'run'>, program: string, env: Readonly<Record<string, string>>): Attempt {
  const file = join(PROGRAMS, `${program}.mjs`);
  return { ...attempt, run: async (place) => JSON.parse(await output(place, process.execPath, [file], env)) };
}

function installPackages(): { readonly folder: string } | { readonly problem: string } {
  const folder = join(CACHE, 'npm-clients');
  if (PACKAGES.every((name) => existsSync(join(folder, 'node_modules', name)))) return { folder };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  try {
    const args = ['install', '--no-audit', '--no-fund', '--silent', ...PACKAGES];
    execFileSync('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'], timeout: INSTALL_MILLIS });
    return { folder };
  } catch (error) {
    return { problem: `npm cannot install ${PACKAGES.join(', ')}: ${error instanceof Error ? error.message : error}` };
  }
}
