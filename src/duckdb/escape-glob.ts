/** A path as DuckDB takes it literally where it reads files: `*`, `?` and `[` are patterns otherwise. */
export function escapeGlob(path: string): string {
  return path.replace(/[*?[]/g, '[$&]');
}
