/** Whether a failure means that a disk is full, however deep it was wrapped and whoever says it: the system, SQLite or DuckDB. */

const CODES: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT']);
const SQLITE_FULL = 13;
/** As the system says it in the messages of DuckDB. In errors of another kind it may be a value that they quote. */
const TEXT = /^IO Error: [\s\S]*(?:No space left on device|Disk quota exceeded)/;
const DEPTH_MAX = 8;

export function isStorageFull(error: unknown): boolean {
  let at = error;
  for (let depth = 0; depth < DEPTH_MAX && at instanceof Error; depth += 1) {
    const { code, errcode } = at as { readonly code?: unknown; readonly errcode?: unknown };
    if (CODES.has(code) || (typeof errcode === 'number' && (errcode & 0xff) === SQLITE_FULL)) return true;
    if (TEXT.test(at.message)) return true;
    at = at.cause;
  }
  return false;
}
