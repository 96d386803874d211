/**
 * An open row file. It is read through its descriptor, so a file that is removed in the meantime can still be read to its end.
 * The descriptor is closed once nobody reads it. Each block's checksum is compared when it is read.
 */
import { close, fstat, open } from 'node:fs';
import { promisify } from 'node:util';
import { FileReads } from '../file-reads.ts';
import { giveBack } from './give-back.ts';
import { RowBlock } from './row-block.ts';
import {
  decodeIndex,
  END_BYTES,
  indexBytes,
  type RowFileAbout,
  RowFileDamaged,
  type RowFileIndex,
} from './row-file-format.ts';
import type { Turns } from './turns.ts';
import { GROUP_BYTES_MAX, type StoredBlock, type UnpackedGroup, Unpacker } from './unpack-blocks.ts';

const openFile = promisify(open);
const statFile = promisify(fstat);

/**
 * Gets rows `from` to `to` of a block, counted within the block. The block's first row is row `first` of the part. What it keeps
 * of the block it copies, at the latest when it is told that the block's memory is given back.
 */
export type TakeRows<Result> = (block: RowBlock, from: number, to: number, first: number) => Result;

/** Who reads rows that follow each other. */
export interface RowsReader {
  /** @returns false where it has enough */
  readonly take: TakeRows<boolean>;
  /** The memory of all blocks so far is given back after this. */
  readonly settle: () => void;
}

/** What all row files of a process share. */
export interface RowFileDeps {
  readonly turns: Turns;
  /** Milliseconds. */
  readonly monotonic: () => number;
}

export class RowFile {
  readonly #fd: number;
  readonly #index: RowFileIndex;
  readonly #deps: RowFileDeps;
  readonly #reads: FileReads;
  readonly #unpacker = new Unpacker();
  #readers = 0;
  #retired = false;

  private constructor(fd: number, reads: FileReads, index: RowFileIndex, deps: RowFileDeps) {
    this.#fd = fd;
    this.#reads = reads;
    this.#index = index;
    this.#deps = deps;
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
      closeAside(fd);
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

  /** Reads rows `from` to `to` of the part, block by block and in order. */
  async read(from: number, to: number, reader: RowsReader, signal: AbortSignal): Promise<void> {
    const { blockRows } = this.about;
    const first = Math.floor(from / blockRows);
    const groups = this.#groupsOf(
      Array.from({ length: Math.ceil(to / blockRows) - first }, (_, place) => first + place),
    );
    const takeAll = (group: UnpackedGroup) => {
      for (const [block, rows] of this.#rowsOf(group)) {
        const start = block * blockRows;
        if (!reader.take(rows, Math.max(0, from - start), Math.min(blockRows, to - start), start)) return false;
      }
      return true;
    };
    for (const [place, group] of groups.entries()) {
      if (place > 0) await this.#deps.turns.next();
      const { bytes, blocks } = await this.#neighbours(group);
      signal.throwIfAborted();
      const unpacked = this.#unpacker.unpack(blocks);
      const goesOn = takeAll(unpacked);
      reader.settle();
      if (unpacked.contents !== undefined) giveBack(unpacked.contents);
      giveBack(bytes);
      if (!goesOn) return;
    }
  }

  /** Reads rows wherever they are. @param rows ascending, none twice @param take copies what it keeps */
  async readRows(rows: readonly number[], take: TakeRows<void>, signal: AbortSignal): Promise<void> {
    const { blockRows } = this.about;
    const byBlock = Map.groupBy(rows, (row) => Math.floor(row / blockRows));
    for (const [place, group] of this.#groupsOf([...byBlock.keys()]).entries()) {
      if (place > 0) await this.#deps.turns.next();
      const stored = await Promise.all(group.map((block) => this.#stored(block)));
      signal.throwIfAborted();
      const unpacked = this.#unpacker.unpack(stored);
      for (const [block, content] of this.#rowsOf(unpacked)) {
        const start = block * blockRows;
        for (const row of byBlock.get(block) ?? []) take(content, row - start, row - start + 1, start);
      }
      if (unpacked.contents !== undefined) giveBack(unpacked.contents);
    }
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

  /** Blocks that follow each other, read at once. @param blocks at least one */
  async #neighbours(
    blocks: readonly number[],
  ): Promise<{ readonly bytes: Buffer; readonly blocks: readonly StoredBlock[] }> {
    const [first = 0, last = first] = [blocks[0], blocks.at(-1)];
    const start = this.#offset(first);
    const bytes = await this.#reads.bytes(start, this.#offset(last + 1) - start);
    const frameOf = (block: number) => bytes.subarray(this.#offset(block) - start, this.#offset(block + 1) - start);
    return { bytes, blocks: blocks.map((block) => this.#block(block, frameOf(block))) };
  }

  async #stored(block: number): Promise<StoredBlock> {
    const start = this.#offset(block);
    return this.#block(block, await this.#reads.bytes(start, this.#offset(block + 1) - start));
  }

  #block(number: number, frame: Buffer): StoredBlock {
    const { sizes, crcs } = this.#index;
    return { number, frame, bytes: sizes[number] ?? 0, crc: crcs[number] ?? 0 };
  }

  /** @throws RowFileDamaged */
  *#rowsOf(group: UnpackedGroup): Generator<readonly [block: number, rows: RowBlock]> {
    const { blockRows, rowCount, sized } = this.about;
    for (const [{ number }, content] of this.#unpacker.contentsOf(group)) {
      const rows = Math.min(blockRows, rowCount - number * blockRows);
      yield [number, new RowBlock(content, rows, 2 + (sized?.length ?? 0))];
    }
  }

  #offset(block: number): number {
    return this.#index.offsets[block] ?? 0;
  }

  #closeIfUnused(): void {
    if (this.#retired && this.#readers === 0) closeAside(this.#fd);
  }
}

/** On another thread, since closing the last descriptor of a removed file frees its disk space, which may be gigabytes. */
function closeAside(fd: number): void {
  close(fd, () => undefined);
}
