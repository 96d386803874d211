/** Python's clients: those of its standard library and of pyarrow where there is one, and the others in an environment of their own. */
import { join } from 'node:path';
import { pythonWithPyarrow } from '../pyarrow.ts';
import { makeVenv } from '../venv.ts';
import { type Attempt, firstLine, output } from './attempt.ts';
import type { Alike } from './table.ts';

const PROGRAM = join(import.meta.dirname, 'python/read.py');
const PACKAGES = [
  'pandas',
  'polars',
  'duckdb',
  'pyarrow',
  'fsspec',
  'aiohttp',
  'requests',
  'httpx',
  'zstandard',
  'pytz',
];
const CSV: readonly Alike[] = ['null and empty text are one to it'];

interface Reading {
  readonly client: string;
  readonly name: string;
  readonly what: string;
  readonly alike?: readonly Alike[];
}

/** What every Python has. */
const STANDARD: readonly Reading[] = [
  { client: 'Python urllib, csv', name: 'urllib_csv', what: 'CSV', alike: CSV },
  { client: 'Python urllib, json', name: 'urllib_json', what: 'JSON' },
];
const PYARROW: readonly Reading[] = [
  { client: 'pyarrow', name: 'pyarrow_parquet', what: 'Parquet, whole' },
  { client: 'pyarrow', name: 'pyarrow_csv', what: 'CSV, `quoted_strings_can_be_null=False`' },
];
const INSTALLED: readonly Reading[] = [
  { client: 'requests', name: 'requests_pages', what: 'JSON, page by page along `next_uri`' },
  { client: 'requests', name: 'requests_ndjson', what: 'NDJSON, streamed' },
  { client: 'httpx', name: 'httpx_ndjson', what: 'NDJSON by `Accept`, compressed (zstd)' },
  { client: 'pandas', name: 'pandas_csv', what: '`read_csv`, `dtype=str`', alike: CSV },
  { client: 'pandas', name: 'pandas_json', what: '`read_json`, `lines=True`, `engine="pyarrow"`' },
  { client: 'pandas', name: 'pandas_parquet', what: '`read_parquet`, `dtype_backend="pyarrow"`' },
  { client: 'Polars', name: 'polars_csv', what: '`read_csv`, `infer_schema=False`', alike: CSV },
  { client: 'Polars', name: 'polars_ndjson', what: '`read_ndjson`' },
  { client: 'Polars', name: 'polars_parquet', what: '`read_parquet` of the address' },
  { client: 'Polars', name: 'polars_scan', what: '`scan_parquet` of the address, by ranges' },
  { client: 'fsspec', name: 'fsspec_csv', what: 'CSV', alike: CSV },
  { client: 'pyarrow, fsspec', name: 'pyarrow_ranges', what: 'Parquet, by ranges of 1 KB' },
  { client: 'DuckDB (Python)', name: 'duckdb_csv', what: '`read_csv`, `all_varchar`, `nullstr`', alike: CSV },
  { client: 'DuckDB (Python)', name: 'duckdb_parquet', what: '`read_parquet` of a download' },
  {
    client: 'DuckDB (Python), fsspec',
    name: 'duckdb_ranges',
    what: '`read_parquet` of the address, by ranges; fsspec lacks `modified`, which DuckDB asks for',
  },
];

/** @param installed only what is there already */
export async function pythonClients(installed: boolean): Promise<readonly Attempt[]> {
  const python = (await firstLine('python3', ['--version'])) === undefined ? undefined : 'python3';
  const pyarrow = pythonWithPyarrow();
  const here = [
    ...STANDARD.map((reading) => attemptOf(reading, python, 'python3 is not installed')),
    ...PYARROW.map((reading) => attemptOf(reading, pyarrow, 'pyarrow is not installed: npm run setup:pyarrow')),
  ];
  if (installed) return here;
  const made = python === undefined ? { problem: 'python3 is not installed' } : makeVenv('clients', PACKAGES);
  const others = INSTALLED.map((reading) =>
    'python' in made ? attemptOf(reading, made.python, '') : attemptOf(reading, undefined, made.problem),
  );
  return [...here, ...others];
}

function attemptOf({ name, ...reading }: Reading, python: string | undefined, skip: string): Attempt {
  if (python === undefined) return { ...reading, skip, run: () => Promise.reject(new Error(skip)) };
  return { ...reading, run: async (place) => JSON.parse(await output(place, python, [PROGRAM, name])) };
}
