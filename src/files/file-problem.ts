/** Why a file that somebody named cannot be read. */
import { codeOf, hasCode } from '../errors/system-code.ts';

/**
 * In one line that names the file.
 * @returns undefined for what is no error of the system
 */
export function fileProblem(path: string, error: unknown): string | undefined {
  if (!(error instanceof Error) || codeOf(error) === undefined) return undefined;
  if (hasCode(error, 'ENOENT')) return `there is no file ${path}`;
  if (hasCode(error, 'EISDIR')) return `${path} is a folder, expected a file`;
  return `${path} cannot be read: ${error.message}`;
}
