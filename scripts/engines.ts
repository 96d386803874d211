/**
 * A Python virtual environment with what the guide "From your engine" and the Python client are tried with: data frames, DuckDB, ClickHouse (as
 * chDB), dbt, and what builds a package. `node scripts/engines.ts` makes it from PyPI and prints its interpreter.
 */
import { makeVenv, pythonOf } from './venv.ts';

const PACKAGES = [
  'chdb==4.4.0',
  'dbt-duckdb==1.11.1',
  'duckdb==2.0.0',
  'duckdb-cli==1.5.6',
  'pandas==3.1.1',
  'polars==2.1.0',
  'pyarrow==26.0.1',
  'setuptools==84.2.1',
];
/** Another one for other versions. */
const NAME = 'engines-2';

/** The interpreter; undefined when the environment has not been made. */
export function pythonWithEngines(): string | undefined {
  return pythonOf(NAME);
}

if (import.meta.main) {
  const made = makeVenv(NAME, PACKAGES);
  if ('python' in made) process.stdout.write(`${made.python}\n`);
  else {
    process.stderr.write(`tests of engines and of the Python client's data frames will be skipped: ${made.problem}\n`);
    process.exitCode = 1;
  }
}
