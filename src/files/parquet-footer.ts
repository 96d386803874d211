/** Where the footer of a Parquet file is: behind it stand its length in four bytes, and the mark PAR1. */
import type { FileHandle } from 'node:fs/promises';
import { letOthersRun } from '../domain/time.ts';
import type { ThriftReader } from './thrift.ts';

/** Every Parquet file begins with it, and ends with it. */
export const PARQUET_MARK: Uint8Array = Buffer.from('PAR1', 'latin1');
const TAIL_BYTES = 8;
/** So much of a footer takes about a millisecond to take apart. */
const BYTES_AT_ONCE = 128 * 1024;

export interface ParquetFooter {
  /** A struct in the compact protocol of Thrift: FileMetaData of parquet.thrift. */
  readonly footer: Buffer;
  /** Its place in the file. */
  readonly start: number;
}

/** Longer than what was allowed. */
export class FooterTooLong extends Error {}

/** @returns undefined where the file has none @throws FooterTooLong before it is read; the filesystem's error */
export async function readParquetFooter(
  file: FileHandle,
  bytesMax = Number.POSITIVE_INFINITY,
): Promise<ParquetFooter | undefined> {
  const { size } = await file.stat();
  const tail = Buffer.alloc(TAIL_BYTES);
  await file.read(tail, 0, TAIL_BYTES, Math.max(0, size - TAIL_BYTES));
  const length = tail.readUInt32LE(0);
  const start = size - TAIL_BYTES - length;
  if (!tail.subarray(4).equals(PARQUET_MARK) || start < PARQUET_MARK.length) return undefined;
  if (length > bytesMax) throw new FooterTooLong();
  const footer = Buffer.alloc(length);
  await file.read(footer, 0, length, start);
  return { footer, start };
}

/** The footer with what stands behind it: the end of a file. */
export function withParquetTail(footer: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(footer.length, 0);
  return Buffer.concat([footer, length, PARQUET_MARK]);
}

/** Lets others run now and then while a footer is taken apart. */
export class FooterTurns {
  readonly #signal: AbortSignal;
  #last = 0;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** @throws the signal's reason */
  async at(reader: ThriftReader): Promise<void> {
    if (reader.at >= this.#last && reader.at - this.#last < BYTES_AT_ONCE) return;
    this.#last = reader.at;
    await letOthersRun();
    this.#signal.throwIfAborted();
  }
}
