/**
 * Turns what is published into a file that can be sent more than once: the file itself or, for what can be read only once, a copy in a
 * folder of its own. Rows become lines of JSON, with types inferred from their values, exactly as on a data directory.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { extname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type ColumnType, formatColumnType } from '../../domain/column-type.ts';
import { PublishError } from '../../publishing/publish-error.ts';
import { refuseFileOptions } from '../../publishing/sources/read-input.ts';
import { spoolRows } from '../../publishing/sources/rows/spool-rows.ts';
import { formatOfName, type InputFormat, localFile } from '../../publishing/sources/source-file.ts';
import { UNLIMITED_STAGING } from '../../publishing/staging-budget.ts';
import type { FilePublication, Publication } from '../publication.ts';

const CONTENT_TYPES: Readonly<Record<InputFormat, string>> = {
  parquet: 'application/vnd.apache.parquet',
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
};

export interface FileToSend {
  readonly path: string;
  readonly bytes: number;
  /** Content-Type and Content-Digest. */
  readonly headers: Readonly<Record<string, string>>;
  /** `types` and `delimiter`, as the service takes them. */
  readonly parameters: readonly (readonly [string, string])[];
}

export interface Spooling {
  /** Where copies may be written. */
  readonly folder: string;
  readonly types: ReadonlyMap<string, ColumnType>;
  /** Called with the number of bytes copied so far. */
  readonly onRead: (bytes: number) => void;
}

/** @throws PublishError for what cannot be read or stored; what the rows or the stream fail with; the signal's reason */
export async function fileToSend(
  publication: Publication,
  { folder, types, onRead }: Spooling,
  signal: AbortSignal,
): Promise<FileToSend> {
  // No limit: the disk is the caller's.
  const spool = { path: join(folder, 'input'), onRead, staged: UNLIMITED_STAGING };
  if (publication.source.kind === 'rows') {
    refuseFileOptions(publication as FilePublication & typeof publication);
    const told = await spoolRows(publication.source.rows, { ...spool, declared: types }, signal);
    return await hashed(spool.path, CONTENT_TYPES.ndjson, typeParameters(told), signal);
  }
  const { source, format, encoding, delimiter } = publication as FilePublication;
  const path = await localFile(source, spool, signal);
  const said = format ?? (source.kind === 'file' ? formatOfName(nameWithin(source.path)) : undefined);
  const parameters = [
    ...typeParameters(types),
    ...(delimiter === undefined ? [] : [['delimiter', delimiter] as const]),
  ];
  return await hashed(path, contentType(said, encoding), parameters, signal);
}

/** The name without the ending of a compression. */
function nameWithin(path: string): string {
  return /^\.(gz|zst|zstd)$/i.test(extname(path)) ? path.slice(0, -extname(path).length) : path;
}

function contentType(format: InputFormat | undefined, encoding: FilePublication['encoding']): string {
  // A text type, so that it can have a charset.
  const type = format === undefined ? 'text/plain' : CONTENT_TYPES[format];
  if (encoding === undefined) return type;
  return `${type}; charset=${encoding === 'latin-1' ? 'iso-8859-1' : encoding}`;
}

function typeParameters(types: ReadonlyMap<string, ColumnType>): readonly (readonly [string, string])[] {
  return [...types].map(([name, type]) => ['types', `"${name.replaceAll('"', '""')}"=${formatColumnType(type)}`]);
}

async function hashed(
  path: string,
  type: string,
  parameters: FileToSend['parameters'],
  signal: AbortSignal,
): Promise<FileToSend> {
  const hash = createHash('sha256');
  let bytes = 0;
  await pipeline(
    createReadStream(path),
    async (chunks: AsyncIterable<Buffer>) => {
      for await (const chunk of chunks) {
        hash.update(chunk);
        bytes += chunk.byteLength;
      }
    },
    { signal },
  ).catch((error: Error) => {
    signal.throwIfAborted();
    throw new PublishError(`${path} cannot be read: ${error.message}`);
  });
  return {
    path,
    bytes,
    headers: { 'content-type': type, 'content-digest': `sha-256=:${hash.digest('base64')}:` },
    parameters,
  };
}
