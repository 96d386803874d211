/**
 * An index file, open for look-ups. The place of every block and its first key are in memory, so a look-up reads one or two
 * blocks. Each block's checksum is compared when it is read, since bytes on disk can rot.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';
import { letOthersRun } from '../../../domain/time.ts';
import { FileReads } from '../file-reads.ts';
import {
  BLOCK_ENTRIES,
  type BlockPlace,
  compareEntry,
  decodeEntries,
  decodeTable,
  decodeTrailer,
  decompress,
  type Entries,
  IndexDamaged,
  type IndexTable,
  keyOfEntry,
  requireIntact,
  TRAILER_BYTES,
} from './index-format.ts';

/** A range of entries by number: from the first (inclusive) to the second (exclusive). */
export interface EntryRange {
  readonly from: number;
  readonly to: number;
}

const decompressAside = promisify<Uint8Array, Buffer>(zstdDecompress);

/** Neighbouring blocks are read in one go, up to this many bytes. */
const READ_BYTES_MAX = 1024 * 1024;
/** Reading and unpacking one takes some 50 µs of the event loop; a filter of hundreds of terms looks at hundreds of blocks. */
const BLOCKS_IN_A_TURN = 32;
/** Between two rank blocks that are needed, up to this many others are read in the same go. */
const RANK_GAP_MAX = 8;
/** About what an entry with a key of variable length takes. */
const TEXT_ENTRY_BYTES = 96;

export class IndexFile implements AsyncDisposable {
  readonly table: IndexTable;
  readonly #file: FileHandle;
  readonly #reads: FileReads;

  private constructor(file: FileHandle, reads: FileReads, table: IndexTable) {
    this.#file = file;
    this.#reads = reads;
    this.table = table;
  }

  /** @throws IndexDamaged; the file system's error */
  static async open(path: string, monotonic: () => number): Promise<IndexFile> {
    await using opening = new AsyncDisposableStack();
    const file = await open(path, 'r');
    opening.defer(async () => await file.close());
    const reads = new FileReads(file.fd, monotonic);
    const { size } = await file.stat();
    if (size < TRAILER_BYTES) throw new IndexDamaged('an index is shorter than its end');
    const place = decodeTrailer(Buffer.from(await readAt(reads, size - TRAILER_BYTES, TRAILER_BYTES)));
    if (place.offset + place.bytes + TRAILER_BYTES !== size)
      throw new IndexDamaged('an index is not as long as it was');
    const stored = await readAt(reads, place.offset, place.bytes);
    requireIntact(stored, place.crc);
    // The table of a long result is long, so it is unpacked on another thread.
    const table = decodeTable(await decompressAside(stored));
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
    const bytes = places.reduce((sum, place) => sum + place.bytes, 0);
    return await readAt(this.#reads, places[0]?.offset ?? 0, bytes);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }
}

export class IndexLookUp {
  readonly table: IndexTable;
  readonly #read: (places: readonly BlockPlace[]) => Promise<Uint8Array>;
  readonly #entries = new Map<number, Promise<Entries>>();
  #unpacked = 0;

  /** @param read gives the stored bytes of neighbouring blocks, unchecked */
  constructor(table: IndexTable, read: (places: readonly BlockPlace[]) => Promise<Uint8Array>) {
    this.table = table;
    this.#read = read;
  }

  /**
   * The number of entries whose key is less than `key`, or, with `orEqual`, at most `key`.
   * @throws IndexDamaged; the file system's error
   */
  async countBelow(key: Uint8Array, orEqual: boolean): Promise<number> {
    const { firstKeys, keyBytes } = this.table;
    const isBelow = (order: number) => order < 0 || (orEqual && order === 0);
    const blocks = countWhile(firstKeys.count, (index) => isBelow(firstKeys.compare(index, key)));
    if (blocks === 0) return 0;
    const entries = await this.#block(blocks - 1);
    const within = countWhile(entries.count, (index) => isBelow(compareEntry(entries, keyBytes, index, key)));
    return (blocks - 1) * BLOCK_ENTRIES + within;
  }

  /** All entries with the same key as entry `number`. */
  async equalTo(number: number): Promise<EntryRange> {
    const { keyBytes, valueCount } = this.table;
    const entries = await this.#block(Math.floor(number / BLOCK_ENTRIES));
    const key = keyOfEntry(entries, keyBytes, number % BLOCK_ENTRIES);
    const start = number - (number % BLOCK_ENTRIES);
    const from = start + countWhile(entries.count, (index) => compareEntry(entries, keyBytes, index, key) < 0);
    const to = start + countWhile(entries.count, (index) => compareEntry(entries, keyBytes, index, key) <= 0);
    // If the key is the first or the last of its block, equal ones may be in other blocks.
    return {
      from: from === start && from > 0 ? await this.countBelow(key, false) : from,
      to: to === start + entries.count && to < valueCount ? await this.countBelow(key, true) : to,
    };
  }

  /** The positions of a range of entries, in the order of the entries. */
  async positions({ from, to }: EntryRange): Promise<Uint32Array> {
    const { entryBlocks, keyBytes } = this.table;
    const [first, last] = [Math.floor(from / BLOCK_ENTRIES), Math.floor(Math.max(from, to - 1) / BLOCK_ENTRIES)];
    // Finding the range's bounds has usually read this block already.
    const known = first === last ? this.#entries.get(first) : undefined;
    if (known !== undefined) {
      const start = first * BLOCK_ENTRIES;
      return (await known).positions.slice(from - start, to - start);
    }
    return await this.#gather(entryBlocks, { from, to }, (bytes) => decodeEntries(this.#decompress(bytes), keyBytes));
  }

  /** The positions of rows without a value: the `from`-th to the `to`-th of them, in order. */
  async nulls({ from, to }: EntryRange): Promise<Uint32Array> {
    const decode = (bytes: Uint8Array) => decodeEntries(this.#decompress(bytes), undefined);
    return await this.#gather(this.table.nullBlocks, { from, to }, decode);
  }

  /**
   * The rank of each position (ascending): the number of the first entry with the same value, or `NO_RANK` where the row has no
   * value.
   */
  async ranks(positions: Uint32Array): Promise<Uint32Array> {
    const { rankBlocks } = this.table;
    const ranks = new Uint32Array(positions.length);
    const needed = [...new Set(positions.map((position) => Math.floor(position / BLOCK_ENTRIES)))];
    const stretches = stretchesOf(needed, rankBlocks);
    const read = await Promise.all(stretches.map(({ from, to }) => this.#read(rankBlocks.slice(from, to))));
    let [stretch, number] = [0, -1];
    let block = Buffer.alloc(0) as Buffer;
    for (const [index, position] of positions.entries()) {
      const wanted = Math.floor(position / BLOCK_ENTRIES);
      if (wanted !== number) {
        while (wanted >= (stretches[stretch]?.to ?? Number.POSITIVE_INFINITY)) stretch += 1;
        number = wanted;
        const { buffer, byteOffset, length } = checkBlock(
          read[stretch],
          rankBlocks,
          stretches[stretch]?.from ?? 0,
          number,
        );
        block = Buffer.from(buffer, byteOffset, length);
      }
      ranks[index] = block.readUInt32LE(4 * (position % BLOCK_ENTRIES));
    }
    return ranks;
  }

  async #block(number: number): Promise<Entries> {
    const known = this.#entries.get(number);
    if (known !== undefined) return await known;
    const { entryBlocks, keyBytes } = this.table;
    const reading = this.#nextTurn()
      .then(async () => await this.#read(entryBlocks.slice(number, number + 1)))
      .then((bytes) => decodeEntries(this.#decompress(checkBlock(bytes, entryBlocks, number, number)), keyBytes));
    this.#entries.set(number, reading);
    return await reading;
  }

  /** Before each block that is unpacked: lets others run before it is one too many in this turn. */
  async #nextTurn(): Promise<void> {
    this.#unpacked += 1;
    if (this.#unpacked % BLOCKS_IN_A_TURN === 0) await letOthersRun();
  }

  /** The `from`-th to the `to`-th number of a list that is stored in blocks. */
  async #gather(
    places: readonly BlockPlace[],
    { from, to }: EntryRange,
    decode: (bytes: Uint8Array) => Entries,
  ): Promise<Uint32Array> {
    const gathered = new Uint32Array(to - from);
    const [first, end] = [Math.floor(from / BLOCK_ENTRIES), Math.ceil(to / BLOCK_ENTRIES)];
    const needed = Array.from({ length: Math.max(0, end - first) }, (_, index) => first + index);
    for (const stretch of stretchesOf(to > from ? needed : [], places)) {
      const bytes = await this.#read(places.slice(stretch.from, stretch.to));
      for (let block = stretch.from; block < stretch.to; block += 1) {
        await this.#nextTurn();
        const start = block * BLOCK_ENTRIES;
        const { positions } = decode(checkBlock(bytes, places, stretch.from, block));
        const part = positions.subarray(Math.max(0, from - start), Math.min(positions.length, to - start));
        gathered.set(part, Math.max(0, start - from));
      }
    }
    return gathered;
  }

  #decompress(bytes: Uint8Array): Uint8Array {
    const { keyBytes } = this.table;
    const entryBytes = keyBytes === 0 ? TEXT_ENTRY_BYTES : 4 + keyBytes;
    return decompress(bytes, 64 + BLOCK_ENTRIES * entryBytes);
  }
}

/** Takes one block out of the bytes of several, of which the first is `from`. @throws IndexDamaged where its checksum differs */
function checkBlock(
  bytes: Uint8Array | undefined,
  places: readonly BlockPlace[],
  from: number,
  number: number,
): Uint8Array {
  const [first, place] = [places[from], places[number]];
  if (bytes === undefined || first === undefined || place === undefined) {
    throw new IndexDamaged(`an index has no block ${number}`);
  }
  const start = place.offset - first.offset;
  const block = bytes.subarray(start, start + place.bytes);
  requireIntact(block, place.crc);
  return block;
}

/** Groups blocks by number into reads. */
function stretchesOf(needed: readonly number[], places: readonly BlockPlace[]): readonly EntryRange[] {
  const stretches: { from: number; to: number; bytes: number }[] = [];
  for (const block of needed) {
    const last = stretches.at(-1);
    const between = last === undefined ? Number.POSITIVE_INFINITY : block - last.to;
    const bytes = places
      .slice(between > RANK_GAP_MAX ? block : last?.to, block + 1)
      .reduce((sum, place) => sum + place.bytes, 0);
    if (last === undefined || between > RANK_GAP_MAX || last.bytes + bytes > READ_BYTES_MAX) {
      stretches.push({ from: block, to: block + 1, bytes: places[block]?.bytes ?? 0 });
    } else {
      last.to = block + 1;
      last.bytes += bytes;
    }
  }
  return stretches;
}

/** How many of the first `count` numbers `holds` accepts. It must accept all up to one number, and none after it. */
function countWhile(count: number, holds: (index: number) => boolean): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

async function readAt(reads: FileReads, offset: number, length: number): Promise<Uint8Array> {
  const bytes = await reads.bytes(offset, length);
  if (bytes.length < length) throw new IndexDamaged('an index is shorter than it was');
  return bytes;
}
