/**
 * Where a source table lies in the folder of sources: `schema.table` is the file `schema/table.parquet`, `.csv` or
 * `.ndjson`, or the folder `schema/table/` with files of one of these kinds, partitioned (`day=2024-03-05/`) or not.
 */
import { open, readdir, stat } from 'node:fs/promises';
import { extname, join, sep } from 'node:path';
import { escapeGlob } from '../../duckdb/escape-glob.ts';
import { EngineError } from '../engine.ts';

const FORMATS = ['parquet', 'csv', 'ndjson'] as const;
export type SourceFormat = (typeof FORMATS)[number];

export interface SourceFiles {
  readonly format: SourceFormat;
  /** Absolute paths of files, or a pattern over those of a folder. */
  readonly patterns: readonly string[];
  /** Absolute paths of all files. */
  readonly paths: readonly string[];
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
    if (file?.isFile())
      found.push({ format, patterns: [escapeGlob(path)], paths: [path], place: path, partitioned: false });
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
  const whole = entries.filter((entry) => !isUnfinished(entry));
  const kinds = FORMATS.filter((format) => whole.some((entry) => extname(entry) === `.${format}`));
  const [format, other] = kinds;
  if (format === undefined) return undefined;
  if (other !== undefined) {
    throw new EngineError(
      'wrong_source',
      `source table ${name}: folder ${place}/ mixes .${format} and .${other} files: keep one kind`,
    );
  }
  const isOurs = (entry: string) => extname(entry) === `.${format}`;
  const ours = whole.filter(isOurs);
  // A pattern finds unfinished files, too.
  const paths = ours.map((entry) => join(folder, entry));
  const patterns =
    ours.length === entries.filter(isOurs).length
      ? [join(escapeGlob(folder), `**/*.${format}`)]
      : paths.map(escapeGlob);
  return { format, patterns, paths, place: folder, partitioned: true };
}

const MARK = Buffer.from('\ufeff');

/** Whether a file of NDJSON begins with a byte order mark. What cannot be read does not: DuckDB says what is wrong with it. */
export async function hasMark({ format, paths }: SourceFiles): Promise<boolean> {
  if (format !== 'ndjson') return false;
  for (const path of paths) if ((await headOf(path).catch(() => undefined))?.equals(MARK)) return true;
  return false;
}

async function headOf(path: string): Promise<Buffer> {
  await using file = await open(path, 'r');
  const { bytesRead, buffer } = await file.read(Buffer.alloc(MARK.length), 0, MARK.length, 0);
  return buffer.subarray(0, bytesRead);
}

/** As Spark, Hive and others name what they still write. A folder `_name=value` is a partition. */
function isUnfinished(entry: string): boolean {
  return entry.split(sep).some((name) => name.startsWith('.') || (name.startsWith('_') && !name.includes('=')));
}
