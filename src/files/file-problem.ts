/**
 * Why a file that somebody named cannot be read, in one line that names it.
 * @returns undefined for what is no error of the system
 */
export function fileProblem(path: string, error: unknown): string | undefined {
  if (!(error instanceof Error && 'code' in error)) return undefined;
  return error.code === 'ENOENT' ? `there is no file ${path}` : `${path} cannot be read: ${error.message}`;
}
