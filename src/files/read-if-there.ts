/** The text of a small file that need not be there, such as a configuration. */
import { readFileSync } from 'node:fs';

/** @returns undefined when there is no such file. @throws the system's error when it cannot be read */
export function readFileIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
