/** What is published, as a local file that DuckDB can read: a file, a stream that is written to one, or rows that become its lines. */
import { join } from 'node:path';
import type { ColumnType } from '../../domain/column-type.ts';
import { PublishError } from '../publish-error.ts';
import { type Rows, spoolRows } from './rows/spool-rows.ts';
import {
  type FileInput,
  type FileOptions,
  localFile,
  type ReadableFile,
  readableFile,
  type Spool,
} from './source-file.ts';

export type Input = FileInput | { readonly kind: 'rows'; readonly rows: Rows };

export interface InputRequest extends FileOptions {
  readonly source: Input;
  /** Types of columns that the input cannot tell; it need not have all of these columns. */
  readonly types?: ReadonlyMap<string, ColumnType>;
}

export interface ReadInput extends ReadableFile {
  /** Those declared, and those that the input tells by itself. */
  readonly types: ReadonlyMap<string, ColumnType>;
}

/** Input that lies on the local disk as it came: rows as lines of JSON, and everything else byte for byte. */
export interface LocalInput {
  readonly path: string;
  /** Those declared, and those that the input tells by itself. */
  readonly types: ReadonlyMap<string, ColumnType>;
}

/** Where copies are written: `folder`, and who is told of their bytes before. */
export interface Copies extends Pick<Spool, 'staged' | 'room' | 'onRead'> {
  readonly folder: string;
}

/**
 * Waits for all of an input that can be read only once.
 * @throws PublishError where there is no such file, or rows that cannot be stored; what `staged` throws
 */
export async function localInput(
  request: InputRequest,
  { folder, ...copies }: Copies,
  signal: AbortSignal,
): Promise<LocalInput> {
  const { source, types = new Map() } = request;
  const spool = { path: join(folder, 'input'), ...copies };
  if (source.kind !== 'rows') return { path: await localFile(source, spool, signal), types };
  refuseFileOptions(request);
  const told = await spoolRows(source.rows, { declared: types, ...spool }, signal);
  return { path: spool.path, types: told };
}

/** @throws PublishError for what is known to be no table; what `staged` throws */
export async function readInput(
  request: InputRequest,
  { path, types }: LocalInput,
  { folder, staged, room }: Copies,
  signal: AbortSignal,
): Promise<ReadInput> {
  const { source } = request;
  if (source.kind === 'rows') return { path, kind: { kind: 'json', layout: 'newline_delimited' }, types };
  const name = source.kind === 'file' ? source.path : '';
  return { ...(await readableFile({ path, name }, request, { folder, staged, room }, signal)), types };
}

/** For rows, which are no file. @throws PublishError for what says how a file is to be read */
export function refuseFileOptions(request: FileOptions): void {
  const given = (['format', 'delimiter', 'encoding'] as const).find((name) => request[name] !== undefined);
  if (given !== undefined) throw new PublishError(`${given} is for files and streams, and these are rows`);
}
