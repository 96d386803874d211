/** Python virtual environments with packages from PyPI. They lie in the user's cache, outside of the checkout, and are made once. */
import { type ExecFileSyncOptions, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const INSTALL_MILLIS = 600_000;

export const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'query-results-service');

/** The interpreter of the environment; undefined when it has not been made. */
export function pythonOf(name: string): string | undefined {
  const python = join(CACHE, name, 'bin', 'python');
  return existsSync(python) ? python : undefined;
}

/**
 * @param packages as pip takes them; only such as need no compiler
 * @returns its interpreter, or why it cannot be made
 */
export function makeVenv(
  name: string,
  packages: readonly string[],
): { readonly python: string } | { readonly problem: string } {
  const present = pythonOf(name);
  if (present !== undefined) return { python: present };
  const folder = join(CACHE, name);
  // Under another name until it is complete: pip is called as a module, so that the folder can be renamed.
  const making = `${folder}.${process.pid}`;
  mkdirSync(CACHE, { recursive: true });
  try {
    const options: ExecFileSyncOptions = { stdio: ['ignore', 'ignore', 'inherit'], timeout: INSTALL_MILLIS };
    execFileSync('python3', ['-m', 'venv', making], options);
    const pip = ['-m', 'pip', 'install', '--quiet', '--only-binary', ':all:', ...packages];
    execFileSync(join(making, 'bin', 'python'), pip, options);
    renameSync(making, folder);
    return { python: join(folder, 'bin', 'python') };
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
    return { problem: `${packages.join(', ')} cannot be installed: ${reason}` };
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}
