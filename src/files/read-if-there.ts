/** The text of a small file that need not be there, such as a configuration. */
import { readFileSync } from 'node:fs';
import { hasCode } from '../errors/system-code.ts';
import { fileProblem } from './file-problem.ts';
import { utf8Text } from './read-utf8.ts';

/** @returns undefined when there is no such file. @throws Error naming the file when it cannot be read, or is not UTF-8 */
export function readFileIfThere(path: string): string | undefined {
  try {
    return utf8Text(readFileSync(path), path);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw new Error(fileProblem(path, error) ?? (error as Error).message, { cause: error });
  }
}
