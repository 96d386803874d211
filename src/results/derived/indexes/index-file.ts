/**
 * An index file, open for look-ups. The place of every block and its first key are in memory, so a look-up reads one or two
 * blocks (index-look-up.ts).
 */
import { type FileHandle, open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';
import { sumOf } from '../../../domain/sum-of.ts';
import { FileReads } from '../file-reads.ts';
import {
  type BlockPlace,
  decodeTable,
  decodeTrailer,
  IndexDamaged,
  type IndexTable,
  requireIntact,
  TRAILER_BYTES,
} from './index-format.ts';
import { IndexLookUp } from './index-look-up.ts';

const unpack = promisify<Uint8Array, Buffer>(zstdDecompress);

export class IndexFile implements AsyncDisposable {
  readonly table: IndexTable;
  readonly #file: FileHandle;
  readonly #reads: FileReads;

  private constructor(file: FileHandle, reads: FileReads, table: IndexTable) {
    this.#file = file;
    this.#reads = reads;
    this.table = table;
  }

  /** @param identity that the index must have @throws IndexDamaged; the file system's error */
  static async open(path: string, identity: string, monotonic: () => number): Promise<IndexFile> {
    await using opening = new AsyncDisposableStack();
    const file = await open(path, 'r');
    opening.defer(async () => await file.close());
    const reads = new FileReads(file.fd, monotonic);
    const { size } = await file.stat();
    if (size < TRAILER_BYTES) throw new IndexDamaged('an index is shorter than its end');
    const place = decodeTrailer(Buffer.from(await readAt(reads, size - TRAILER_BYTES, TRAILER_BYTES)), identity);
    if (place.offset + place.bytes + TRAILER_BYTES !== size)
      throw new IndexDamaged('an index is not as long as it was');
    const stored = await readAt(reads, place.offset, place.bytes);
    requireIntact(stored, place.crc);
    // The table of a long result is long, so it is unpacked on another thread.
    const table = decodeTable(await unpack(stored));
    opening.move();
    return new IndexFile(file, reads, table);
  }

  /** Bytes of memory that it takes, about. */
  get memoryBytes(): number {
    const { entryBlocks, nullBlocks, rankBlocks, firstKeys } = this.table;
    return (
      64 * (entryBlocks.length + nullBlocks.length + rankBlocks.length) + 4 * firstKeys.count + firstKeys.bytes.length
    );
  }

  get hasRanks(): boolean {
    return this.table.rankBlocks.length > 0 || this.table.rowCount === 0;
  }

  /** For one look-up, or several of one request: it keeps the blocks that it has read. */
  lookUp(): IndexLookUp {
    return new IndexLookUp(this.table, (places) => this.#read(places));
  }

  /** The stored bytes of neighbouring blocks, unchecked. @throws IndexDamaged; the file system's error */
  async #read(places: readonly BlockPlace[]): Promise<Uint8Array> {
    const bytes = sumOf(places, 'bytes');
    return await readAt(this.#reads, places[0]?.offset ?? 0, bytes);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }
}

async function readAt(reads: FileReads, offset: number, length: number): Promise<Uint8Array> {
  const bytes = await reads.bytes(offset, length);
  if (bytes.length < length) throw new IndexDamaged('an index is shorter than it was');
  return bytes;
}
