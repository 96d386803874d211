/** Where DuckDB's COPY writes before its file is whole: beside it, under a name that is left behind when it is interrupted. */
import { basename, dirname, join } from 'node:path';

export function partPath(path: string): string {
  return join(dirname(path), `tmp_${basename(path)}`);
}
