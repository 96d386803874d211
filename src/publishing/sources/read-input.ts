/** What is published, as a local file that DuckDB can read: a file, a stream that is written to one, or rows that become its lines. */
import { join } from 'node:path';
import type { ColumnType } from '../../domain/column-type.ts';
import { PublishError } from '../publish-error.ts';
import { type Rows, spoolRows } from './rows/spool-rows.ts';
import { type FileInput, localFile, type ReadableFile, type Reading, readableFile } from './source-file.ts';

export type Input = FileInput | { readonly kind: 'rows'; readonly rows: Rows };

export interface InputRequest extends Reading {
  readonly source: Input;
  /** Types of columns that the input cannot tell. */
  readonly types?: ReadonlyMap<string, ColumnType>;
}

export interface ReadInput extends ReadableFile {
  /** Those declared, and those that the input tells by itself. */
  readonly types: ReadonlyMap<string, ColumnType>;
}

/**
 * @param folder where copies may be written
 * @param onRead told how many bytes have been copied so far, of what can be read only once
 * @throws PublishError for what is known to be no table
 */
export async function readInput(
  request: InputRequest,
  folder: string,
  onRead: (bytes: number) => void,
  signal: AbortSignal,
): Promise<ReadInput> {
  const { source, types = new Map() } = request;
  const spool = join(folder, 'input');
  if (source.kind === 'rows') {
    refuseReading(request);
    const told = await spoolRows(source.rows, { declared: types, path: spool, onRead }, signal);
    return { path: spool, kind: { kind: 'json', layout: 'newline_delimited' }, types: told };
  }
  const file = await localFile(source, { path: spool, onRead }, signal);
  const name = source.kind === 'file' ? source.path : '';
  return { ...(await readableFile(file, name, request, folder, signal)), types };
}

function refuseReading(request: Reading): void {
  const given = (['format', 'delimiter', 'encoding'] as const).find((name) => request[name] !== undefined);
  if (given !== undefined) throw new PublishError(`${given} is for files and streams, and these are rows`);
}
