/**
 * An open row file. It is read through its descriptor, so a file that is removed in the meantime can still be read to its end.
 * The descriptor is closed once nobody reads it. Each block's checksum is compared when it is read.
 */
import { close, fstat, open, read } from 'node:fs';
import { promisify } from 'node:util';
import { RowBlock, unpackBlock, unpackGroup } from './row-block.ts';
import {
  blockCrc,
  decodeIndex,
  END_BYTES,
  GROUP_BLOCKS,
  indexBytes,
  type RowFileAbout,
  RowFileDamaged,
  type RowFileIndex,
} from './row-file-format.ts';
import type { Turns } from './turns.ts';

const openFile = promisify(open);
const readFrom = promisify(read);
const statFile = promisify(fstat);

/** Bytes that are read from the file in one go: some thousand rows. */
const READ_BYTES = 256 * 1024;
/** Bytes that are unpacked in one go, in half a millisecond. */
const SLICE_BYTES = 512 * 1024;

/** Gets rows `from` to `to` of a block, counted within the block. The block's first row is row `first` of the part. */
export type TakeRows = (block: RowBlock, from: number, to: number, first: number) => void;

export class RowFile {
  readonly #fd: number;
  readonly #index: RowFileIndex;
  readonly #turns: Turns;
  #readers = 0;
  #retired = false;

  private constructor(fd: number, index: RowFileIndex, turns: Turns) {
    this.#fd = fd;
    this.#index = index;
    this.#turns = turns;
  }

  /** @throws RowFileDamaged; the file system's error, ENOENT where there is none */
  static async open(path: string, turns: Turns): Promise<RowFile> {
    const fd = await openFile(path, 'r');
    try {
      const { size } = await statFile(fd);
      const end = await readBytes(fd, Math.max(0, size - END_BYTES), END_BYTES);
      const bytes = indexBytes(end);
      const start = size - END_BYTES - bytes;
      if (start < 0) throw new RowFileDamaged('the file is shorter than its index');
      return new RowFile(fd, decodeIndex(await readBytes(fd, start, bytes), end), turns);
    } catch (error) {
      closeAside(fd);
      throw error;
    }
  }

  get about(): RowFileAbout {
    return this.#index.about;
  }

  /** In memory. */
  get byteLength(): number {
    return this.#index.offsets.byteLength + this.#index.crcs.byteLength + this.#index.joined.byteLength;
  }

  /** Keeps the file open until it is disposed of; undefined where it is closed already. */
  reading(): Disposable | undefined {
    if (this.#retired && this.#readers === 0) return undefined;
    this.#readers += 1;
    let ended = false;
    return {
      [Symbol.dispose]: () => {
        if (ended) return;
        ended = true;
        this.#readers -= 1;
        this.#closeIfUnused();
      },
    };
  }

  /** Closes the file as soon as nobody reads it. */
  retire(): void {
    if (this.#retired) return;
    this.#retired = true;
    this.#closeIfUnused();
  }

  /** Reads rows `from` to `to` of the part, block by block, in order. @param take returns false when it has enough */
  async read(from: number, to: number, take: (...rows: Parameters<TakeRows>) => boolean, signal: AbortSignal) {
    const { blockRows } = this.about;
    const end = Math.ceil(to / blockRows);
    let unpacked = 0;
    for (let block = Math.floor(from / blockRows); block < end; ) {
      const until = this.#stretch(block, end);
      const start = this.#offset(block);
      const bytes = await readBytes(this.#fd, start, this.#offset(until) - start);
      signal.throwIfAborted();
      while (block < until) {
        for (const rows of this.#unpack(block, until, bytes, start)) {
          const first = block * blockRows;
          if (!take(rows, Math.max(0, from - first), Math.min(blockRows, to - first), first)) return;
          unpacked += rows.byteLength;
          block += 1;
        }
        if (unpacked < SLICE_BYTES || block === end) continue;
        unpacked = 0;
        await this.#turns.next();
        signal.throwIfAborted();
      }
    }
  }

  /** Reads rows from anywhere in the part. @param rows ascending, none twice */
  async readRows(rows: readonly number[], take: TakeRows, signal: AbortSignal): Promise<void> {
    const { blockRows } = this.about;
    const byBlock = Map.groupBy(rows, (row) => Math.floor(row / blockRows));
    const blocks = [...byBlock.keys()];
    let unpacked = 0;
    for (let at = 0; at < blocks.length; at += READS_AT_ONCE) {
      const some = blocks.slice(at, at + READS_AT_ONCE);
      const bytes = await Promise.all(some.map((block) => this.#bytesOf(block)));
      signal.throwIfAborted();
      for (const [place, block] of some.entries()) {
        const read = bytes[place] ?? Buffer.alloc(0);
        this.#requireWhole(block, read);
        const content = this.#rows(block, unpackBlock(read));
        unpacked += content.byteLength;
        for (const row of byBlock.get(block) ?? []) {
          const within = row - block * blockRows;
          take(content, within, within + 1, block * blockRows);
        }
        if (unpacked < SLICE_BYTES) continue;
        unpacked = 0;
        await this.#turns.next();
        signal.throwIfAborted();
      }
    }
  }

  async #bytesOf(block: number): Promise<Buffer> {
    return await readBytes(this.#fd, this.#offset(block), this.#offset(block + 1) - this.#offset(block));
  }

  /**
   * Unpacks the next blocks: a whole group where one begins, else one block.
   * @param bytes of the file, from `start` on
   * @throws RowFileDamaged
   */
  #unpack(block: number, until: number, bytes: Buffer, start: number): readonly RowBlock[] {
    const bytesOf = (one: number) => {
      const found = bytes.subarray(this.#offset(one) - start, this.#offset(one + 1) - start);
      this.#requireWhole(one, found);
      return found;
    };
    const isGroup = block % GROUP_BLOCKS === 0 && block + GROUP_BLOCKS <= until;
    if (!isGroup || this.#index.joined[block / GROUP_BLOCKS] !== 1) {
      return [this.#rows(block, unpackBlock(bytesOf(block)))];
    }
    const group = Array.from({ length: GROUP_BLOCKS }, (_, place) => bytesOf(block + place));
    return unpackGroup(group).map((content, place) => this.#rows(block + place, content));
  }

  #requireWhole(block: number, bytes: Buffer): void {
    if (blockCrc(bytes, block) === this.#index.crcs[block]) return;
    throw new RowFileDamaged(`block ${block} is not what was written`);
  }

  #rows(block: number, content: Buffer): RowBlock {
    const { blockRows, rowCount, sized } = this.about;
    return new RowBlock(content, Math.min(blockRows, rowCount - block * blockRows), 2 + (sized?.length ?? 0));
  }

  /** The block at which one read from the file ends: READ_BYTES on, at least one block, and if possible at the end of a group. */
  #stretch(block: number, end: number): number {
    let until = block + 1;
    while (until < end && this.#offset(until + 1) - this.#offset(block) <= READ_BYTES) until += 1;
    const group = until - (until % GROUP_BLOCKS);
    return until < end && group > block ? group : until;
  }

  #offset(block: number): number {
    return this.#index.offsets[block] ?? 0;
  }

  #closeIfUnused(): void {
    if (this.#retired && this.#readers === 0) closeAside(this.#fd);
  }
}

const READS_AT_ONCE = 16;

/** On another thread, since closing the last descriptor of a removed file frees its disk space, which may be gigabytes. */
function closeAside(fd: number): void {
  close(fd, () => undefined);
}

async function readBytes(fd: number, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  const { bytesRead } = await readFrom(fd, bytes, 0, length, position);
  if (bytesRead !== length) throw new RowFileDamaged(`${bytesRead} bytes where ${length} were written`);
  return bytes;
}
