/**
 * Writes an index file from entries in order, and refuses entries that are out of order: an index in the wrong order would find
 * too few rows, and nobody would notice.
 */
import type { FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { writeAll } from '../../../files/write-all.ts';
import { NotBuildable } from '../build-queue.ts';
import { BLOCK_ENTRIES, type Entries, encodeEntryBlock, encodeNumbers, keyRange } from './entry-block.ts';
import type { EntryRange } from './entry-ranges.ts';
import { type BlockPlace, encodeTable, encodeTrailer, KeyList, NO_RANK } from './index-format.ts';

/** The most rows with ranks: while an index is written, ranks are in memory, 4 bytes each. */
const RANKED_ROWS_MAX = 16 * 1024 * 1024;

const WRITE_BYTES = 1024 * 1024;

export interface IndexShape {
  /** Hex (index-origin.ts). */
  readonly identity: string;
  readonly rowCount: number;
  /** Bytes of every key; 0 where they differ. */
  readonly keyBytes: number;
  readonly hasCutKeys: boolean;
}

export class IndexWriter {
  readonly #file: Pick<FileHandle, 'write'>;
  readonly #shape: IndexShape;
  readonly #bytesMax: number;
  readonly #ranks: Uint32Array | undefined;
  readonly #entryBlocks: BlockPlace[] = [];
  readonly #nullBlocks: BlockPlace[] = [];
  readonly #rankBlocks: BlockPlace[] = [];
  readonly #firstKeys: Uint8Array[] = [];
  readonly #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  #offset = 0;
  #values = 0;
  #nulls = 0;
  /** The key of the last entry. */
  #key: Uint8Array = new Uint8Array(0);
  #position = -1;
  #nullPosition = -1;
  #rank = 0;

  /** @param file empty @param bytesMax the most that it may take */
  constructor(file: Pick<FileHandle, 'write'>, shape: IndexShape, bytesMax: number) {
    this.#file = file;
    this.#shape = shape;
    this.#bytesMax = bytesMax;
    const ranked = !shape.hasCutKeys && shape.rowCount <= RANKED_ROWS_MAX;
    this.#ranks = ranked ? new Uint32Array(shape.rowCount).fill(NO_RANK) : undefined;
  }

  /**
   * Adds entries, which come after all that were added before.
   * @param entries a multiple of `BLOCK_ENTRIES`, but for the last ones
   * @throws NotBuildable where the file would take too much; Error where they are out of order
   */
  async add(entries: Entries): Promise<void> {
    this.#follow(entries);
    const { keyBytes } = this.#shape;
    for (let from = 0; from < entries.count; from += BLOCK_ENTRIES) {
      const to = Math.min(entries.count, from + BLOCK_ENTRIES);
      this.#firstKeys.push(copyOf(entries.keys, keyRange(entries, keyBytes, from)));
      this.#entryBlocks.push(await this.#append(encodeEntryBlock(entries, keyBytes, { from, to })));
    }
  }

  /**
   * Adds the positions of rows without a value, ascending, after all entries. Multiples of `BLOCK_ENTRIES` as above.
   * @throws as `add`
   */
  async addNulls(positions: Uint32Array): Promise<void> {
    for (const position of positions) {
      if (position <= this.#nullPosition || !this.#isFree(position)) {
        throw new Error(`position ${position} of a row without a value is out of order in an index`);
      }
      this.#nullPosition = position;
    }
    for (let from = 0; from < positions.length; from += BLOCK_ENTRIES) {
      this.#nullBlocks.push(await this.#append(encodeNumbers(positions.subarray(from, from + BLOCK_ENTRIES))));
    }
    this.#nulls += positions.length;
  }

  /** @returns the file's bytes @throws Error where some row has had no entry */
  async finish(): Promise<number> {
    const { identity, rowCount, keyBytes, hasCutKeys } = this.#shape;
    if (this.#values + this.#nulls !== rowCount) {
      throw new Error(`an index of ${rowCount} rows has ${this.#values} values and ${this.#nulls} nulls`);
    }
    for (let from = 0; this.#ranks !== undefined && from < rowCount; from += BLOCK_ENTRIES) {
      this.#rankBlocks.push(await this.#append(encodeNumbers(this.#ranks.subarray(from, from + BLOCK_ENTRIES))));
    }
    let end = 0;
    const ends = Uint32Array.from(this.#firstKeys, (key) => {
      end += key.length;
      return end;
    });
    const table = encodeTable({
      rowCount,
      valueCount: this.#values,
      keyBytes,
      hasCutKeys,
      entryBlocks: this.#entryBlocks,
      nullBlocks: this.#nullBlocks,
      rankBlocks: this.#rankBlocks,
      firstKeys: new KeyList(ends, Buffer.concat(this.#firstKeys)),
    });
    const offset = this.#offset;
    await this.#append(table);
    await this.#append(encodeTrailer(identity, offset, table));
    await this.#flush();
    return this.#offset;
  }

  /** Checks that each entry comes after the one before it, and notes its rank. */
  #follow(entries: Entries): void {
    const { count, positions, keys } = entries;
    const { keyBytes, rowCount } = this.#shape;
    const ranks = this.#ranks;
    const first = this.#values;
    const view = new DataView(keys.buffer, keys.byteOffset, keys.byteLength);
    let [rank, position] = [this.#rank, this.#position];
    let before = { from: 0, to: 0 };
    for (let i = 0; i < count; i += 1) {
      const key = keyRange(entries, keyBytes, i);
      const order = i === 0 ? this.#compareFirst(keys.subarray(key.from, key.to)) : compareKeys(view, key, before);
      const next = positions[i] ?? rowCount;
      const isFree = next < rowCount && (ranks === undefined || ranks[next] === NO_RANK);
      if (!isFree || order < 0 || (order === 0 && next <= position)) {
        throw new Error(`entry ${first + i} of an index is out of order`);
      }
      if (order > 0) rank = first + i;
      if (ranks !== undefined) ranks[next] = rank;
      position = next;
      before = key;
    }
    this.#key = copyOf(keys, before);
    this.#rank = rank;
    this.#position = position;
    this.#values = first + count;
  }

  /** Compares a key with that of the last entry. Positive where there is none. */
  #compareFirst(key: Uint8Array): number {
    return this.#values === 0 ? 1 : Buffer.compare(key, this.#key);
  }

  /** Whether there is such a row and, as far as the writer remembers, it has had no entry yet. */
  #isFree(position: number): boolean {
    return position < this.#shape.rowCount && (this.#ranks === undefined || this.#ranks[position] === NO_RANK);
  }

  /** Adds bytes to the file. They are written once there are enough of them. */
  async #append(bytes: Uint8Array): Promise<BlockPlace> {
    if (this.#offset + bytes.length > this.#bytesMax) {
      throw new NotBuildable(`an index of ${this.#shape.rowCount} rows would take more than ${this.#bytesMax} bytes`);
    }
    const place = { offset: this.#offset, bytes: bytes.length, crc: crc32(bytes) };
    this.#offset += bytes.length;
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
    if (this.#pendingBytes >= WRITE_BYTES) await this.#flush();
    return place;
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.concat(this.#pending.splice(0));
    const start = this.#offset - bytes.length;
    this.#pendingBytes = 0;
    await writeAll(this.#file, bytes, start);
  }
}

/** A view would keep all of `bytes` in memory. */
function copyOf(bytes: Uint8Array, { from, to }: EntryRange): Uint8Array {
  return new Uint8Array(bytes.subarray(from, to));
}

/** Whether key `a` comes after (positive), equals or comes before key `b`. Four bytes at a time: to make a view of each key takes longer. */
function compareKeys(keys: DataView, a: EntryRange, b: EntryRange): number {
  const common = Math.min(a.to - a.from, b.to - b.from);
  let at = 0;
  for (; at + 4 <= common; at += 4) {
    const difference = keys.getUint32(a.from + at) - keys.getUint32(b.from + at);
    if (difference !== 0) return difference;
  }
  for (; at < common; at += 1) {
    const difference = keys.getUint8(a.from + at) - keys.getUint8(b.from + at);
    if (difference !== 0) return difference;
  }
  return a.to - a.from - (b.to - b.from);
}
