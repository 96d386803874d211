/** The text of a small file that need not be there, such as a configuration. */
import { readFileSync } from 'node:fs';
import { hasCode } from '../errors/system-code.ts';

/** @returns undefined when there is no such file. @throws the system's error when it cannot be read */
export function readFileIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}
