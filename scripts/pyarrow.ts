/**
 * A Python virtual environment with pyarrow, for the tests that read what it writes: `node scripts/pyarrow.ts` makes it from PyPI
 * and prints its interpreter. Its name has the version in it.
 */
import { makeVenv, pythonOf } from './venv.ts';

const PYARROW = '26.0.1';
const NAME = `pyarrow-${PYARROW}`;

/** The interpreter; undefined when the environment has not been made. */
export function pythonWithPyarrow(): string | undefined {
  return pythonOf(NAME);
}

if (import.meta.main) {
  const made = makeVenv(NAME, [`pyarrow==${PYARROW}`]);
  if ('python' in made) process.stdout.write(`${made.python}\n`);
  else {
    process.stderr.write(`tests of files by pyarrow will be skipped: ${made.problem}\n`);
    process.exitCode = 1;
  }
}
