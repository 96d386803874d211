/** The input as a local file, and what kind of file it is: by what was said, else by its name, else by its first bytes. */
import { createWriteStream } from 'node:fs';
import { open, realpath, stat } from 'node:fs/promises';
import { extname } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { JsonLayout } from './json-source.ts';
import { PublishError } from './publish-error.ts';

export const FORMATS = ['parquet', 'csv', 'ndjson'] as const;
export type Format = (typeof FORMATS)[number];

export type Input =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'stream'; readonly stream: Readable };

const EXTENSIONS: Readonly<Record<string, Format>> = {
  '.parquet': 'parquet',
  '.csv': 'csv',
  '.tsv': 'csv',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.json': 'ndjson',
};

/**
 * The absolute path of a regular file with the input's bytes: the file itself, or a copy at `spool` of what can be read only
 * once (a stream, a pipe).
 * @throws PublishError when there is no such file.
 */
export async function localFile(input: Input, spool: string, signal: AbortSignal): Promise<string> {
  if (input.kind === 'stream') {
    await pipeline(input.stream, createWriteStream(spool), { signal });
    return spool;
  }
  try {
    const path = await realpath(input.path);
    const stats = await stat(path);
    if (stats.isFile()) return path;
    if (stats.isDirectory()) throw new PublishError(`${input.path} is a folder, expected a file`);
    await using handle = await open(path, 'r');
    await pipeline(handle.createReadStream({ autoClose: false }), createWriteStream(spool), { signal });
    return spool;
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof Error) || !('code' in error)) throw error;
    throw new PublishError(
      error.code === 'ENOENT' ? `there is no file ${input.path}` : `${input.path} cannot be read: ${error.message}`,
    );
  }
}

export type FileKind = { readonly kind: 'parquet' | 'csv' } | { readonly kind: 'json'; readonly layout: JsonLayout };

/**
 * @param path where the bytes are
 * @param name what the user calls the file, for its extension
 */
export async function fileKind(path: string, name: string, format: Format | undefined): Promise<FileKind> {
  await using file = await open(path, 'r');
  const buffer = Buffer.alloc(4096);
  const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
  const head = buffer.subarray(0, bytesRead);
  if (head[0] === 0x1f && head[1] === 0x8b)
    throw new PublishError('the file is compressed (gzip): decompress it first');
  const first = head
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .trimStart()[0];
  const isJson = first === '{' || first === '[';
  const guessed = head.subarray(0, 4).toString('latin1') === 'PAR1' ? 'parquet' : isJson ? 'ndjson' : 'csv';
  const decided = format ?? EXTENSIONS[extname(name).toLowerCase()] ?? guessed;
  switch (decided) {
    case 'parquet':
    case 'csv':
      return { kind: decided };
    case 'ndjson':
      if (first !== undefined && !isJson)
        throw new PublishError('line 1: expected a JSON object, or an array of objects');
      return { kind: 'json', layout: first === '[' ? 'array' : 'newline_delimited' };
    default:
      return decided satisfies never;
  }
}
