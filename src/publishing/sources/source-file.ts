/** The input as a local file of plain bytes, and what kind of file it is: by what was said, else by its name, else by its first bytes. */
import { open, realpath, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { endedBy } from '../../domain/or-aborted.ts';
import { hasCode } from '../../errors/system-code.ts';
import type { DiskRoom } from '../../files/disk-room.ts';
import { fileProblem } from '../../files/file-problem.ts';
import { writeInRoom } from '../../files/write-in-room.ts';
import { PublishError } from '../publish-error.ts';
import type { StagedWrites } from '../staging-budget.ts';
import { type Compression, compressionOf, type DecompressionLimits, decompress } from './decompress.ts';
import { type Encoding, transcode } from './encoding.ts';
import { HEAD_BYTES, refuseForeign } from './foreign-file.ts';
import type { JsonLayout } from './json/json-relation.ts';

const FORMATS = ['parquet', 'csv', 'ndjson'] as const;
export type InputFormat = (typeof FORMATS)[number];

export type FileInput =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'stream'; readonly stream: Readable };

const EXTENSIONS: Readonly<Record<string, InputFormat>> = {
  '.parquet': 'parquet',
  '.csv': 'csv',
  '.tsv': 'csv',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.json': 'ndjson',
};

/** Open files that a command does not inherit: Node closes them when it starts, and opens its own there, which may never end. */
const NODES_OWN = /^\/(?:dev|proc\/self)\/fd\/(?:[3-9]|1[0-5])$/;

/** The format that a file's name tells. */
export function formatOfName(name: string): InputFormat | undefined {
  return EXTENSIONS[extname(name).toLowerCase()];
}

/**
 * The absolute path of a regular file with the input's bytes: the file itself, or a copy at `spool` of what can be read only
 * once (a stream, a pipe).
 * @throws PublishError when there is no such file; the signal's reason once it is aborted
 */
export async function localFile(input: FileInput, spool: Spool, signal: AbortSignal): Promise<string> {
  if (input.kind === 'stream') {
    return await copyTo(spool, input.stream, signal);
  }
  try {
    if (NODES_OWN.test(input.path))
      throw new PublishError(`${input.path} does not reach this command: give it as standard input, and - as the file`);
    const stats = await stat(input.path);
    if (stats.isDirectory()) throw new PublishError(`${input.path} is a folder, expected a file`);
    const path = stats.isFile() ? await pathIfNamed(input.path) : undefined;
    if (path !== undefined) return path;
    await using handle = await open(input.path, 'r');
    return await copyTo(spool, handle.createReadStream({ autoClose: false }), signal);
  } catch (error) {
    signal.throwIfAborted();
    const problem = fileProblem(input.path, error);
    throw problem === undefined ? error : new PublishError(problem);
  }
}

/** Undefined for a file that has no name any more, as one that a shell deletes when it has opened it for `/dev/stdin` or `<(…)`. */
async function pathIfNamed(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** Where a copy is written of what can be read only once. */
export interface Spool {
  readonly path: string;
  /** Told how many bytes of it are there. */
  readonly onRead: (bytes: number) => void;
  /** Told of bytes before they are written; what it throws ends the copy. */
  readonly staged: StagedWrites;
  /** What makes room where the disk is full; nothing when left out. */
  readonly room?: DiskRoom | undefined;
}

async function copyTo({ path, onRead, staged, room }: Spool, stream: Readable, signal: AbortSignal): Promise<string> {
  let bytes = 0;
  const count = async function* (chunks: AsyncIterable<Buffer | string>) {
    for await (const chunk of chunks) {
      await staged.take(Buffer.byteLength(chunk));
      yield chunk;
      bytes += Buffer.byteLength(chunk);
      onRead(bytes);
    }
  };
  await endedBy(signal, pipeline(stream, count, writeInRoom(path, room), { signal }));
  return path;
}

/** How a file, or a stream of one, is to be read. */
export interface FileOptions {
  /** By the file's name or first bytes when left out. */
  readonly format?: InputFormat | undefined;
  /** What separates the fields of a CSV file; a comma, a semicolon or a tab, as the header has it, when left out. */
  readonly delimiter?: string | undefined;
  /** Of text; UTF-8 when left out. */
  readonly encoding?: Encoding | undefined;
  /** How the file is said to be compressed; by its first bytes when left out. */
  readonly compression?: Compression | undefined;
  /** Of what is compressed. */
  readonly decompression?: DecompressionLimits | undefined;
}

export type FileKind = { readonly kind: 'parquet' | 'csv' } | { readonly kind: 'json'; readonly layout: JsonLayout };

export interface ReadableFile {
  /** The file itself, or a copy that is decompressed and UTF-8. */
  readonly path: string;
  readonly kind: FileKind;
}

/**
 * @param file where the bytes are, and what the user calls the file, for its extension
 * @param copies where copies may be written, and who is told of their bytes
 * @throws PublishError for a file that is known to be no table; what `staged` throws
 */
export async function readableFile(
  { path, name }: { readonly path: string; readonly name: string },
  { format, encoding = 'utf-8', delimiter, compression: declared, decompression }: FileOptions,
  { folder, staged, room }: { readonly folder: string } & Pick<Spool, 'staged' | 'room'>,
  signal: AbortSignal,
): Promise<ReadableFile> {
  let [at, head] = [path, await headOf(path)];
  const compression = compressionOf(head);
  if (declared !== undefined && compression !== declared) {
    throw new PublishError(`the file is said to be ${declared}, and is not: it is ${compression ?? 'not compressed'}`);
  }
  if (compression !== undefined) {
    at = join(folder, 'decompressed');
    await decompress(path, compression, { ...decompression, destination: at, staged, room }, signal);
    head = await headOf(at);
  }
  if (encoding !== 'utf-8') {
    const decoded = join(folder, 'decoded');
    await transcode({ path: at, head, encoding }, { destination: decoded, staged }, signal);
    [at, head] = [decoded, await headOf(decoded)];
  }
  refuseForeign(head);
  const kind = kindOf(head, compression === undefined ? name : name.replace(/\.[^.]*$/, ''), format);
  if (kind.kind === 'parquet' && encoding !== 'utf-8') throw new PublishError('a Parquet file has no text encoding');
  if (kind.kind !== 'csv' && delimiter !== undefined) {
    throw new PublishError(`a delimiter is for CSV, and the file is ${kind.kind === 'json' ? 'JSON' : 'Parquet'}`);
  }
  if (kind.kind !== 'parquet') refuseOtherEncoding(head);
  return { path: at, kind };
}

async function headOf(path: string): Promise<Buffer> {
  await using file = await open(path, 'r');
  const buffer = Buffer.alloc(HEAD_BYTES);
  const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
  return buffer.subarray(0, bytesRead);
}

function refuseOtherEncoding(head: Buffer): void {
  const isMarked = (head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff);
  if (isMarked || (head.includes(0) && isUtf16(head))) {
    const remedy = { say: 'encoding', examples: ['utf-16'] } as const;
    throw new PublishError('the file is UTF-16 text, expected UTF-8: say so, or save it as UTF-8', { remedy });
  }
  if (head.includes(0)) throw new PublishError('the file is binary data, expected a Parquet, CSV or NDJSON file');
}

/** No header line begins like an object with a key, or an array of objects. */
function isJsonText(head: Buffer): boolean {
  return /^(\ufeff)?\s*(\{\s*"(?:[^"\\]|\\.)*"\s*:|\[\s*\{\s*")/.test(head.toString('utf8'));
}

/** Of text that is mostly ASCII, UTF-16 has every other byte 0. */
function isUtf16(head: Buffer): boolean {
  const zeros = [0, 1].map((from) => head.filter((byte, at) => at % 2 === from && byte === 0).length);
  return Math.max(...zeros) > head.length / 4 && Math.min(...zeros) < head.length / 64;
}

function kindOf(head: Buffer, name: string, format: InputFormat | undefined): FileKind {
  const first = head
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .trimStart()[0];
  const isJson = first === '{' || first === '[';
  const guessed = head.subarray(0, 4).toString('latin1') === 'PAR1' ? 'parquet' : isJson ? 'ndjson' : 'csv';
  const decided = format ?? formatOfName(name) ?? guessed;
  switch (decided) {
    case 'parquet':
    case 'csv':
      if (decided === 'csv' && guessed === 'parquet') throw new PublishError('the file is Parquet, not CSV');
      if (decided === 'csv' && isJsonText(head)) throw new PublishError('the file is JSON, not CSV');
      return { kind: decided };
    case 'ndjson':
      if (first !== undefined && !isJson)
        throw new PublishError('line 1: expected a JSON object, or an array of objects');
      return { kind: 'json', layout: first === '[' ? 'array' : 'newline_delimited' };
    default:
      return decided satisfies never;
  }
}
