/**
 * A Python virtual environment with pyarrow, for the tests that read what it writes: `node scripts/pyarrow.ts` makes it from PyPI
 * and prints its interpreter. It lies in the user's cache, outside of the checkout, under a name that has the version in it.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const PYARROW = '26.0.1';
const INSTALL_MILLIS = 300_000;

const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
const folder = join(cache, 'query-results-service', `pyarrow-${PYARROW}`);

/** The interpreter; undefined when the environment has not been made. */
export function pythonWithPyarrow(): string | undefined {
  const python = join(folder, 'bin', 'python');
  return existsSync(python) ? python : undefined;
}

function install(): string {
  const present = pythonWithPyarrow();
  if (present !== undefined) return present;
  // Under another name until it is complete: pip is called as a module, so that the folder can be renamed.
  const making = `${folder}.${process.pid}`;
  mkdirSync(cache, { recursive: true });
  try {
    execFileSync('python3', ['-m', 'venv', making], { stdio: 'inherit', timeout: INSTALL_MILLIS });
    const pip = ['-m', 'pip', 'install', '--quiet', '--only-binary', ':all:', `pyarrow==${PYARROW}`];
    execFileSync(join(making, 'bin', 'python'), pip, { stdio: 'inherit', timeout: INSTALL_MILLIS });
    renameSync(making, folder);
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
  return join(folder, 'bin', 'python');
}

if (import.meta.main) {
  try {
    process.stdout.write(`${install()}\n`);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    process.stderr.write(`pyarrow ${PYARROW} cannot be installed, so tests of its files will be skipped: ${reason}\n`);
    process.exitCode = 1;
  }
}
