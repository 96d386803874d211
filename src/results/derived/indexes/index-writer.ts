/**
 * Writes an index file from entries in order, and refuses entries that are out of order: an index in the wrong order would find
 * too few rows, and nobody would notice.
 */
import type { FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { NotBuildable } from '../build-queue.ts';
import {
  BLOCK_ENTRIES,
  type BlockPlace,
  bytesOf,
  compress,
  type Entries,
  encodeEntries,
  encodeTable,
  encodeTrailer,
  KeyList,
  keyOfEntry,
  NO_RANK,
} from './index-format.ts';

/** The most rows with ranks: while an index is written, ranks are in memory, 4 bytes each. */
export const RANKED_ROWS_MAX = 16 * 1024 * 1024;

const WRITE_BYTES = 1024 * 1024;

export interface IndexShape {
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
      const block = cut(entries, keyBytes, from, Math.min(entries.count, from + BLOCK_ENTRIES));
      this.#firstKeys.push(Uint8Array.from(keyOfEntry(block, keyBytes, 0)));
      this.#entryBlocks.push(await this.#append(compress(encodeEntries(block))));
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
      const block = positions.subarray(from, from + BLOCK_ENTRIES);
      const nulls = { count: block.length, positions: block, keyEnds: undefined, keys: new Uint8Array(0) };
      this.#nullBlocks.push(await this.#append(compress(encodeEntries(nulls))));
    }
    this.#nulls += positions.length;
  }

  /** @returns the file's bytes @throws Error where some row has had no entry */
  async finish(): Promise<number> {
    const { rowCount, keyBytes, hasCutKeys } = this.#shape;
    if (this.#values + this.#nulls !== rowCount) {
      throw new Error(`an index of ${rowCount} rows has ${this.#values} values and ${this.#nulls} nulls`);
    }
    for (let from = 0; this.#ranks !== undefined && from < rowCount; from += BLOCK_ENTRIES) {
      this.#rankBlocks.push(await this.#append(bytesOf(this.#ranks.subarray(from, from + BLOCK_ENTRIES))));
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
    const stored = compress(table);
    const offset = this.#offset;
    await this.#append(stored);
    await this.#append(encodeTrailer(offset, stored));
    await this.#flush();
    return this.#offset;
  }

  /** Checks that each entry comes after the one before it, and notes its rank. */
  #follow({ count, positions, keyEnds, keys }: Entries): void {
    const { keyBytes, rowCount } = this.#shape;
    const ranks = this.#ranks;
    const first = this.#values;
    let [rank, position, before, beforeFrom] = [this.#rank, this.#position, this.#key, 0];
    let beforeTo = before.length;
    let from = 0;
    for (let i = 0; i < count; i += 1) {
      const to = keyEnds === undefined ? from + keyBytes : (keyEnds[i] ?? from);
      const next = positions[i] ?? rowCount;
      // Neighbours differ early or are equal, so their bytes are compared in place: making a view of each would take longer
      // than everything else.
      let at = from;
      let beforeAt = beforeFrom;
      while (at < to && beforeAt < beforeTo && keys[at] === before[beforeAt]) {
        at += 1;
        beforeAt += 1;
      }
      const isEqual = at === to && beforeAt === beforeTo && first + i > 0;
      const isAfter = beforeAt === beforeTo || (at < to && (keys[at] ?? 0) > (before[beforeAt] ?? 0));
      const isFree = next < rowCount && (ranks === undefined || ranks[next] === NO_RANK);
      if (!isFree || (isEqual ? next <= position : !isAfter)) {
        throw new Error(`entry ${first + i} of an index is out of order`);
      }
      if (!isEqual) rank = first + i;
      if (ranks !== undefined) ranks[next] = rank;
      position = next;
      before = keys;
      beforeFrom = from;
      beforeTo = to;
      from = to;
    }
    this.#key = before.slice(beforeFrom, beforeTo);
    this.#rank = rank;
    this.#position = position;
    this.#values = first + count;
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
    for (let done = 0; done < bytes.length; ) {
      const { bytesWritten } = await this.#file.write(bytes, done, bytes.length - done, start + done);
      done += bytesWritten;
    }
  }
}

function cut({ positions, keyEnds, keys }: Entries, keyBytes: number, from: number, to: number): Entries {
  const block = { count: to - from, positions: positions.subarray(from, to) };
  if (keyEnds === undefined) {
    return { ...block, keyEnds: undefined, keys: keys.subarray(from * keyBytes, to * keyBytes) };
  }
  const start = from === 0 ? 0 : (keyEnds[from - 1] ?? 0);
  const ends = keyEnds.subarray(from, to).map((end) => end - start);
  return { ...block, keyEnds: ends, keys: keys.subarray(start, keyEnds[to - 1]) };
}
