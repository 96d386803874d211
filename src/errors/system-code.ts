/** The codes by which the system, and Node, tell their errors apart, such as `ENOENT`. */

/** Undefined for what has none. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  const code = codeOf(error);
  return code !== undefined && codes.includes(code);
}

/** Whether the system says that a file, or a folder above it, is not there. */
export function isMissing(error: unknown): boolean {
  return hasCode(error, 'ENOENT', 'ENOTDIR');
}

/** A disk that has lost the bytes, a file or folder of another user, a link in a circle, a folder in place of a file. */
const UNREADABLE = ['EIO', 'EACCES', 'EPERM', 'ELOOP', 'EISDIR'];

/** Whether the system cannot read this one file, though others may be right. */
export function isUnreadable(error: unknown): boolean {
  return hasCode(error, ...UNREADABLE);
}

/** What the system says, at the end of a message of DuckDB's that begins with its kind. */
const SAID =
  /^IO Error: [\s\S]*(?:Too many open files(?: in system)?|Input\/output error|Permission denied|Read-only file system|No such file or directory)$/;

/** Whether the system refused something, such as another open file, by an error of Node's or of DuckDB's: no fault of what was read. */
export function isSystemFailure(error: Error): boolean {
  return 'syscall' in error || SAID.test(error.message);
}
