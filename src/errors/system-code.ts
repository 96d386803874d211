/** The codes by which the system, and Node, tell their errors apart, such as `ENOENT`. */

/** Undefined for what has none. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  const code = codeOf(error);
  return code !== undefined && codes.includes(code);
}
