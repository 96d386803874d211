/**
 * Where a source table lies in the folder of sources: `schema.table` is the file `schema/table.parquet`, `.csv` or
 * `.ndjson`, or the folder `schema/table/` with files of one of these kinds, partitioned (`day=2024-03-05/`) or not.
 */
import { readdir, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { escapeGlob } from '../../duckdb/escape-glob.ts';
import { EngineError } from '../engine.ts';

const FORMATS = ['parquet', 'csv', 'ndjson'] as const;
export type SourceFormat = (typeof FORMATS)[number];

export interface SourceFiles {
  readonly format: SourceFormat;
  /** Absolute path of a file, or a pattern over the files of a folder. */
  readonly pattern: string;
  /** Absolute path of the file or the folder. */
  readonly place: string;
  /** Folders `name=value/` are columns too. */
  readonly partitioned: boolean;
}

/** A folder with more files than this is no table but a mistake. */
const FILES_MAX = 100_000;
const NAME = /^[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*$/;

/**
 * @param directory absolute
 * @param name `schema.table`
 * @throws EngineError missing_source, saying where the table was expected; wrong_source when it is there twice or mixed.
 */
export async function findSource(directory: string, name: string): Promise<SourceFiles> {
  if (!NAME.test(name))
    throw new EngineError('wrong_source', `"${name}" is no table name: expected schema.table in lower case`);
  const place = name.replace('.', '/');
  const found: SourceFiles[] = [];
  for (const format of FORMATS) {
    const path = join(directory, `${place}.${format}`);
    const file = await stat(path).catch(() => undefined);
    if (file?.isFile()) found.push({ format, pattern: escapeGlob(path), place: path, partitioned: false });
  }
  const folder = await findFolder(directory, place, name);
  if (folder !== undefined) found.push(folder);
  const [first, second] = found;
  if (first === undefined) {
    throw new EngineError(
      'missing_source',
      `source table ${name} is missing: expected ${place}.parquet, ${place}.csv, ${place}.ndjson or a folder ${place}/ of such files in the folder of sources (QRS_SOURCES_DIR)`,
    );
  }
  if (second !== undefined) {
    throw new EngineError(
      'wrong_source',
      `source table ${name} is there more than once (${found.map((f) => (f.partitioned ? `${place}/` : `${place}.${f.format}`)).join(', ')}): keep one`,
    );
  }
  return first;
}

async function findFolder(directory: string, place: string, name: string): Promise<SourceFiles | undefined> {
  const folder = join(directory, place);
  const entries = await readdir(folder, { recursive: true }).catch(() => undefined);
  if (entries === undefined) return undefined;
  if (entries.length > FILES_MAX) {
    throw new EngineError('wrong_source', `source table ${name}: folder ${place}/ holds more than ${FILES_MAX} files`);
  }
  const kinds = FORMATS.filter((format) => entries.some((entry) => extname(entry) === `.${format}`));
  const [format, other] = kinds;
  if (format === undefined) return undefined;
  if (other !== undefined) {
    throw new EngineError(
      'wrong_source',
      `source table ${name}: folder ${place}/ mixes .${format} and .${other} files: keep one kind`,
    );
  }
  return { format, pattern: join(escapeGlob(folder), `**/*.${format}`), place: folder, partitioned: true };
}
