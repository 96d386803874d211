/** The system's errors about files that are not there. */
import { hasCode } from '../errors/system-code.ts';

/** Whether the system says that a file, or a folder above it, is not there. */
export function isMissing(error: unknown): boolean {
  return hasCode(error, 'ENOENT', 'ENOTDIR');
}
