/**
 * An open row file. It is read through its descriptor, so a file that is removed in the meantime can still be read to its end.
 * The descriptor is closed once nobody reads it. Each block's checksum is compared when it is read.
 */
import { close, fstat, open } from 'node:fs';
import { promisify } from 'node:util';
import type { Turns } from '../../../domain/turns.ts';
import { giveBack } from '../../give-back.ts';
import { FileReads } from '../file-reads.ts';
import type { TextsOfRows } from './read-row-texts.ts';
import { Readers } from './readers.ts';
import type { BlockRows } from './row-block.ts';
import {
  decodeIndex,
  END_BYTES,
  indexBytes,
  type RowFileAbout,
  RowFileDamaged,
  type RowFileIndex,
} from './row-file-format.ts';
import { RowNumbers, SIZED_TABLES } from './row-numbers.ts';
import { GROUP_BYTES_MAX, type StoredBlock, unpackBlocks } from './unpack-blocks.ts';

const openFile = promisify(open);
const statFile = promisify(fstat);
const NO_BYTES = Buffer.alloc(0);
/** Text of a small page, which waits for nobody. Of hundreds of long reads that begin in one round of the event loop, one goes on in each. */
const AT_ONCE_BYTES_MAX = 64 * 1024;

/** What all row files of a process share. */
export interface RowFileDeps {
  readonly turns: Turns;
  /** Milliseconds. */
  readonly monotonic: () => number;
}

export class RowFile implements TextsOfRows {
  readonly #index: RowFileIndex;
  readonly #deps: RowFileDeps;
  readonly #reads: FileReads;
  readonly #readers: Readers;
  #closed: Promise<void> | undefined;

  private constructor(fd: number, reads: FileReads, index: RowFileIndex, deps: RowFileDeps) {
    this.#reads = reads;
    this.#index = index;
    this.#deps = deps;
    this.#readers = new Readers(() => {
      this.#closed = closeAside(fd);
    });
  }

  /** @throws RowFileDamaged; the file system's error, ENOENT where there is none */
  static async open(path: string, deps: RowFileDeps): Promise<RowFile> {
    const fd = await openFile(path, 'r');
    try {
      const { size } = await statFile(fd);
      const reads = new FileReads(fd, deps.monotonic);
      const end = await reads.bytes(Math.max(0, size - END_BYTES), END_BYTES);
      const bytes = indexBytes(end);
      const start = size - END_BYTES - bytes;
      if (start < 0) throw new RowFileDamaged('the file is shorter than its index');
      return new RowFile(fd, reads, decodeIndex(await reads.bytes(start, bytes), end), deps);
    } catch (error) {
      void closeAside(fd);
      throw error;
    }
  }

  get about(): RowFileAbout {
    return this.#index.about;
  }

  /** In memory. */
  get byteLength(): number {
    return this.#index.offsets.byteLength + this.#index.sizes.byteLength + this.#index.crcs.byteLength;
  }

  reading(): Disposable | undefined {
    return this.#readers.reading();
  }

  /** Closes the file as soon as nobody reads it. Where nobody does, resolves when it is closed. */
  async retire(): Promise<void> {
    this.#readers.retire();
    await this.#closed;
  }

  async *read<T>(
    from: number,
    to: number,
    take: (rows: readonly BlockRows[]) => T,
    signal: AbortSignal,
  ): AsyncGenerator<T> {
    const { blockRows } = this.about;
    const first = Math.floor(from / blockRows);
    const blocks = Array.from({ length: Math.ceil(to / blockRows) - first }, (_, place) => first + place);
    const groups = this.#groupsOf(blocks);
    let ahead = this.#bytesOf(groups[0] ?? []);
    try {
      for (const [place, group] of groups.entries()) {
        if (place > 0) await this.#deps.turns.next();
        else if (this.#textBytes(group) > AT_ONCE_BYTES_MAX) await this.#deps.turns.nextIfMany();
        const bytes = ahead instanceof Promise ? await ahead : ahead;
        signal.throwIfAborted();
        // Another thread reads the next ones while these are unpacked.
        ahead = this.#bytesOf(groups[place + 1] ?? []);
        const rows = this.#unpacked(this.#neighbours(group, bytes)).map((block, index) => {
          const firstRow = ((group[0] ?? 0) + index) * blockRows;
          return { ...block, from: Math.max(0, from - firstRow), to: Math.min(block.to, to - firstRow) };
        });
        const taken = take(rows);
        giveBack(bytes);
        yield taken;
      }
    } finally {
      // Whoever stops early may close the file.
      if (ahead instanceof Promise) await Promise.allSettled([ahead]);
    }
  }

  /**
   * Reads rows wherever they are.
   * @param rows ascending, none twice
   * @param take gets them one by one, and copies what it keeps
   * @throws as `read`
   */
  async readRows(rows: readonly number[], take: (row: BlockRows) => void, signal: AbortSignal): Promise<void> {
    const { blockRows } = this.about;
    const byBlock = Map.groupBy(rows, (row) => Math.floor(row / blockRows));
    for (const [place, group] of this.#groupsOf([...byBlock.keys()]).entries()) {
      if (place > 0) await this.#deps.turns.next();
      const bytes = await Promise.all(group.map((block) => this.#bytesOf([block])));
      signal.throwIfAborted();
      const unpacked = this.#unpacked(group.map((block, index) => this.#block(block, bytes[index] ?? NO_BYTES)));
      for (const [index, block] of unpacked.entries()) {
        for (const row of byBlock.get(group[index] ?? 0) ?? []) {
          const from = row % blockRows;
          take({ ...block, from, to: from + 1 });
        }
      }
      const [first] = unpacked;
      if (first !== undefined) giveBack(first.text);
    }
  }

  #textBytes(blocks: readonly number[]): number {
    return blocks.reduce((sum, block) => sum + (this.#index.sizes[block] ?? 0), 0);
  }

  /** The blocks, in groups of which each is unpacked in a moment. @param blocks ascending */
  #groupsOf(blocks: readonly number[]): readonly (readonly number[])[] {
    const groups: number[][] = [];
    let bytes = Number.POSITIVE_INFINITY;
    for (const block of blocks) {
      const more = this.#index.sizes[block] ?? 0;
      const last = groups.at(-1);
      if (last !== undefined && bytes + more <= GROUP_BYTES_MAX) last.push(block);
      else {
        groups.push([block]);
        bytes = 0;
      }
      bytes += more;
    }
    return groups;
  }

  /** @param blocks which follow each other @returns their bytes, as they are in the file */
  #bytesOf(blocks: readonly number[]): Buffer | Promise<Buffer> {
    const [first] = blocks;
    if (first === undefined) return NO_BYTES;
    const start = this.#offset(first);
    const bytes = this.#reads.bytes(start, this.#offset(first + blocks.length) - start);
    // A read ahead may fail long before anybody waits for it.
    if (bytes instanceof Promise) bytes.catch(() => undefined);
    return bytes;
  }

  #neighbours(blocks: readonly number[], bytes: Buffer): readonly StoredBlock[] {
    const start = this.#offset(blocks[0] ?? 0);
    return blocks.map((block) =>
      this.#block(block, bytes.subarray(this.#offset(block) - start, this.#offset(block + 1) - start)),
    );
  }

  #block(number: number, bytes: Buffer): StoredBlock {
    const { blockRows, rowCount, sized } = this.about;
    const { sizes, crcs } = this.#index;
    const rows = Math.min(blockRows, rowCount - number * blockRows);
    const numbers = new RowNumbers(bytes, rows, SIZED_TABLES + (sized?.length ?? 0));
    const frame = bytes.subarray(numbers.byteLength);
    return { number, rows, numbers, frame, bytes: sizes[number] ?? 0, crc: crcs[number] ?? 0 };
  }

  /** All rows of each block. @throws RowFileDamaged */
  #unpacked(blocks: readonly StoredBlock[]): readonly BlockRows[] {
    const text = unpackBlocks(blocks);
    let end = 0;
    return blocks.map(({ numbers, rows, bytes }) => {
      const start = end;
      end += bytes;
      return { text, start, numbers, from: 0, to: rows };
    });
  }

  #offset(block: number): number {
    return this.#index.offsets[block] ?? 0;
  }
}

/** On another thread, since closing the last descriptor of a removed file frees its disk space, which may be gigabytes. */
async function closeAside(fd: number): Promise<void> {
  await new Promise<void>((resolve) => close(fd, () => resolve()));
}
