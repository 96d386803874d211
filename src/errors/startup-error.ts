/** Why the service cannot start, in one line that says what to do. What is not known here is said as the system says it. */
import { codeOf } from './system-code.ts';

export class StartupError extends Error {
  override readonly name: string = 'StartupError';
}

/** An address that cannot be listened on. */
export function listenFailure(error: unknown, host: string, port: number): unknown {
  const say = (message: string) => new StartupError(message, { cause: error });
  switch (codeOf(error)) {
    case 'EADDRINUSE':
      return say(`port ${port} is taken by another program; stop it or set QRS_PORT`);
    case 'EACCES':
      return say(`port ${port} needs more rights than this user has; set QRS_PORT to 1024 or above`);
    case 'EADDRNOTAVAIL':
      return say(`this machine does not have the address ${host}; set QRS_HOST (0.0.0.0 is every interface)`);
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return say(`the host name ${host} is not known; set QRS_HOST to an address of this machine`);
    default:
      return error;
  }
}

/** A folder that cannot be made or written. @param setting what names the place */
export function folderFailure(error: unknown, path: string, setting: string): unknown {
  const problem = folderProblem(error, path, setting);
  return problem === undefined ? error : new StartupError(problem, { cause: error });
}

/**
 * The same as text; undefined where nothing better is known than what the system says.
 * @param setting left out where it is too late to name another place
 */
export function folderProblem(error: unknown, path: string, setting?: string): string | undefined {
  const code = codeOf(error);
  const orSet = setting === undefined ? '' : `, or set ${setting}`;
  switch (code) {
    case 'EACCES':
    case 'EPERM':
      return `this user may not write to ${path}; give it the right to${orSet} (${code})`;
    case 'EROFS':
      return `${path} is on a disk that is mounted read-only; mount it writable${orSet} (${code})`;
    case 'ENOSPC':
    case 'EDQUOT':
      return `the disk of ${path} is full; free some space${orSet} (${code})`;
    case 'EEXIST':
    case 'ENOTDIR':
      return `${path} is not a folder, or lies in something that is none; remove it${orSet} (${code})`;
    case 'ENOLINK':
      return `${path} is a link to a folder that is not there, or lies in one; mount its disk or mend the link${orSet} (${code})`;
    case 'ENOENT':
      return `${path} cannot be made; ${setting === undefined ? 'make it by hand' : `set ${setting} to a folder that can`} (${code})`;
    default:
      return undefined;
  }
}

/** SQLite's primary result codes. */
const SQLITE_READONLY = 8;
const SQLITE_IOERR = 10;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;

/** With less than this SQLite can make neither its log nor the index of it, and says only that it failed. */
export const CATALOG_BYTES_MIN = 200_000;

/**
 * What to do about a catalog that cannot be opened; empty when that is not known.
 * @param freeBytes on its disk, where known
 */
export function catalogAdvice(error: unknown, freeBytes = Number.POSITIVE_INFINITY): string {
  if (freeBytes < CATALOG_BYTES_MIN) return '; its disk is full: free some space';
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : codeOf(error);
  switch (code) {
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
    case SQLITE_READONLY:
      return '; make the file and its folder writable for this user, or set QRS_CATALOG_URL';
    case 'ENOSPC':
    case 'EDQUOT':
    case SQLITE_FULL:
      return '; free some space on its disk';
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
      return '; its folder must be there, writable, and on a local disk';
    case SQLITE_CORRUPT:
      return '; move it and what lies beside it with the endings -wal and -shm out of the way, and restore it from a backup';
    default:
      return '';
  }
}
