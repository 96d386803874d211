/**
 * Compares the pages of a Parquet file with the checksums that stand in their headers: DuckDB does not, and a changed byte would become another value.
 * Spark and Trino write them, and others on demand. The CRC-32 of a page covers all bytes behind its header:
 * https://parquet.apache.org/docs/file-format/data-pages/checksumming/
 */
import { type FileHandle, open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import type { DuckDb, Row } from '../../../duckdb/duckdb.ts';
import { ThriftDamaged, ThriftReader } from '../../../files/thrift.ts';
import { PublishError } from '../../publish-error.ts';
import { inRowGroup, readRowGroups } from './row-groups.ts';

/** Field numbers of PageHeader in parquet.thrift. */
const HEADER = { bytes: 3, crc: 4 };
/** Room for a header: its statistics may have two long texts. A chunk with a longer one is left to DuckDB. */
const HEADER_BYTES_MAX = 1024 * 1024;
const HEADER_BYTES_USUAL = 4096;
/** What is read and summed up in one turn of the event loop: a tenth of a millisecond. */
const SLICE_BYTES = 256 * 1024;
/** Column chunks of which DuckDB tells at a time. */
const CHUNKS_AT_ONCE = 4000;

/** The pages of one column in one row group. */
interface ColumnChunk {
  readonly column: string;
  readonly group: number;
  readonly start: number;
  readonly end: number;
}

interface PageHeader {
  /** Of the header itself. */
  readonly headerBytes: number;
  /** Of what follows it. */
  readonly bytes: number;
  readonly crc: number | undefined;
}

/**
 * A file without a checksum in the first pages of its first row group has none, and is not read. What is no header is left to DuckDB, which reads the file
 * meanwhile.
 * @param path as DuckDB takes it @param file the same for the filesystem
 * @throws PublishError naming the column and the rows; the signal's reason
 */
export async function checkPageChecksums(
  duckDb: DuckDb,
  { path, file }: { readonly path: string; readonly file: string },
  signal: AbortSignal,
): Promise<void> {
  const first = await chunksOf(duckDb, path, 0, 1, signal);
  await using opened = await open(file, 'r');
  const pages = new PageReader(opened);
  if (!(await someHasChecksum(pages, first, signal))) return;
  const groupsAtOnce = Math.max(1, Math.floor(CHUNKS_AT_ONCE / first.length));
  for (let group = 0; ; group += groupsAtOnce) {
    const chunks = await chunksOf(duckDb, path, group, group + groupsAtOnce, signal);
    if (chunks.length === 0) return;
    for (const chunk of chunks) {
      if (await isIntact(pages, chunk, signal)) continue;
      const where = inRowGroup(await readRowGroups(duckDb, path, signal), chunk.group);
      throw new PublishError(
        `column ${JSON.stringify(chunk.column)}${where}: the file is damaged: a page has not the checksum that was written with it`,
      );
    }
  }
}

async function chunksOf(
  duckDb: DuckDb,
  path: string,
  fromGroup: number,
  toGroup: number,
  signal: AbortSignal,
): Promise<readonly ColumnChunk[]> {
  const text = `SELECT path_in_schema, row_group_id, dictionary_page_offset, data_page_offset, total_compressed_size
    FROM parquet_metadata($1) WHERE row_group_id >= $2 AND row_group_id < $3 ORDER BY row_group_id, column_id`;
  const rows = await duckDb.query({ text, values: [path, BigInt(fromGroup), BigInt(toGroup)] }, signal);
  return rows.map(chunkOf);
}

function chunkOf([column, group, dictionary, data, bytes]: Row): ColumnChunk {
  // Some writers say 0 where there is no dictionary.
  const start = Number(dictionary ?? 0) > 0 ? Math.min(Number(dictionary), Number(data)) : Number(data);
  const end = start + Number(bytes);
  const isPlace = start >= 0 && Number.isSafeInteger(end);
  const place = isPlace ? { start, end } : { start: 0, end: 0 };
  return { column: String(column), group: Number(group), ...place };
}

async function someHasChecksum(
  pages: PageReader,
  chunks: readonly ColumnChunk[],
  signal: AbortSignal,
): Promise<boolean> {
  for (const { start, end } of chunks) {
    signal.throwIfAborted();
    if ((await pages.header(start, end))?.crc !== undefined) return true;
  }
  return false;
}

async function isIntact(pages: PageReader, { start, end }: ColumnChunk, signal: AbortSignal): Promise<boolean> {
  for (let at = start; at < end; ) {
    signal.throwIfAborted();
    const header = await pages.header(at, end);
    if (header === undefined) return true;
    const from = at + header.headerBytes;
    if (header.crc !== undefined && (await pages.crc(from, from + header.bytes, signal)) !== header.crc) return false;
    at = from + header.bytes;
  }
  return true;
}

class PageReader {
  readonly #file: FileHandle;
  readonly #slice = Buffer.allocUnsafe(SLICE_BYTES);

  constructor(file: FileHandle) {
    this.#file = file;
  }

  /** @param end of the column chunk @returns undefined where there is none */
  async header(at: number, end: number): Promise<PageHeader | undefined> {
    for (const bytesMax of [HEADER_BYTES_USUAL, HEADER_BYTES_MAX]) {
      const bytes = bytesMax > SLICE_BYTES ? Buffer.allocUnsafe(bytesMax) : this.#slice;
      const { bytesRead } = await this.#file.read(bytes, 0, Math.max(0, Math.min(bytesMax, end - at)), at);
      const header = headerIn(bytes.subarray(0, bytesRead));
      if (header !== undefined || bytesRead < bytesMax) return header;
    }
    return undefined;
  }

  async crc(from: number, to: number, signal: AbortSignal): Promise<number> {
    let sum = 0;
    for (let at = from; at < to; ) {
      signal.throwIfAborted();
      const { bytesRead } = await this.#file.read(this.#slice, 0, Math.min(SLICE_BYTES, to - at), at);
      // The file ends within the page.
      if (bytesRead === 0) break;
      sum = crc32(this.#slice.subarray(0, bytesRead), sum);
      at += bytesRead;
    }
    return sum;
  }
}

function headerIn(bytes: Buffer): PageHeader | undefined {
  const reader = new ThriftReader(bytes);
  try {
    const fields = reader.fields();
    const headerBytes = reader.at;
    const integer = (id: number): number | undefined => {
      const field = fields.find((each) => each.id === id);
      if (field === undefined) return undefined;
      reader.at = field.start;
      return reader.integer();
    };
    const size = integer(HEADER.bytes);
    if (size === undefined || size < 0) return undefined;
    const crc = integer(HEADER.crc);
    // It is an i32, and so is negative from 2^31 on.
    return { headerBytes, bytes: size, crc: crc === undefined ? undefined : crc >>> 0 };
  } catch (error) {
    if (error instanceof ThriftDamaged) return undefined;
    throw error;
  }
}
