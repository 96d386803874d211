/**
 * A Python virtual environment with the hosted API's Python client, for the test that has it run queries here: `node
 * scripts/dune-client.ts` makes it from PyPI and prints its interpreter. Its name has the version in it.
 */
import { makeVenv, pythonOf } from './venv.ts';

const CLIENT = '1.12.2';
const PANDAS = '2.3.3';
const NAME = `dune-client-${CLIENT}-pandas-${PANDAS}`;

/** The interpreter; undefined when the environment has not been made. */
export function pythonWithDuneClient(): string | undefined {
  return pythonOf(NAME);
}

if (import.meta.main) {
  const made = makeVenv(NAME, [`dune-client==${CLIENT}`, `pandas==${PANDAS}`]);
  if ('python' in made) process.stdout.write(`${made.python}\n`);
  else {
    process.stderr.write(`the test of the hosted API's Python client will be skipped: ${made.problem}\n`);
    process.exitCode = 1;
  }
}
