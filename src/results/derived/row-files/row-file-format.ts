/**
 * The format of a row file: the rows of one part as the text that answers have, so that no page has to be encoded twice.
 *
 *     blocks   of each its numbers (row-numbers.ts), and then its text as one zstd frame with a checksum of the text (zstd.ts)
 *     index    u32 offset of each block and of the end of the last; u32 bytes of each block's text; u32 CRC-32 of each block's numbers
 *              and of the checksum of its text, begun with the block's number
 *     about    `RowFileAbout` as JSON
 *     end      u32 bytes of the index, u32 bytes of `about`, u32 CRC-32 of both, 8 bytes that name the format and its version
 *
 * The text of a block is its rows with a comma after each, also the last. So the texts of blocks, one after another, are an answer's text
 * but for the last comma. The numbers of a row are the bytes of its text, its cell bytes, and its cell bytes in each column that has
 * cells of various sizes. All numbers are little-endian.
 */
import { crc32 } from 'node:zlib';
import { CHECKSUM_BYTES } from './zstd.ts';

export interface RowFileAbout {
  /** What the file's bytes depend on. Another identity is another file. */
  readonly identity: string;
  readonly rowCount: number;
  /** A power of two. Every block but the last has this many rows. */
  readonly blockRows: number;
  /** Bytes of each column's name in the text, with its quotes and without the colon. */
  readonly nameBytes: readonly number[];
  /** The columns whose cell bytes are in the blocks, in that order; undefined where there are too many columns. */
  readonly sized: readonly number[] | undefined;
}

/** What is known of rows besides their texts, so that columns can be cut from them. */
export type RowTextsAbout = Pick<RowFileAbout, 'nameBytes' | 'sized'>;

export interface RowFileIndex {
  readonly about: RowFileAbout;
  readonly offsets: Uint32Array;
  /** Bytes of each block's text. */
  readonly sizes: Uint32Array;
  readonly crcs: Uint32Array;
}

/** Raise it with each change of the format: then older files are made anew. */
export const ROW_FILE_VERSION = 4;
const MAGIC = Buffer.from('qrsrows4');
export const END_BYTES = 12 + MAGIC.length;

export class RowFileDamaged extends Error {}

/**
 * Of what zstd does not check when it unpacks the text, and of the checksum by which it does. It includes the block's number, so that a block in
 * another's place counts as damaged. zstd's checksum of a text takes a third of the time of CRC-32.
 */
export function blockCrc(block: number, numbers: Uint8Array, frame: Uint8Array): number {
  return crc32(frame.subarray(-CHECKSUM_BYTES), crc32(numbers, block));
}

/** The index while it is being built. */
export interface WrittenIndex {
  readonly about: RowFileAbout;
  readonly offsets: readonly number[];
  readonly sizes: readonly number[];
  readonly crcs: readonly number[];
}

export function encodeIndex({ about, offsets, sizes, crcs }: WrittenIndex): Buffer {
  const numbers = [...offsets, ...sizes, ...crcs];
  const index = Buffer.allocUnsafe(4 * numbers.length);
  for (const [place, number] of numbers.entries()) index.writeUInt32LE(number, 4 * place);
  const text = Buffer.from(JSON.stringify(about));
  const end = Buffer.allocUnsafe(12);
  end.writeUInt32LE(index.length, 0);
  end.writeUInt32LE(text.length, 4);
  end.writeUInt32LE(crc32(text, crc32(index)), 8);
  return Buffer.concat([index, text, end, MAGIC]);
}

/**
 * @param end the file's last `END_BYTES`
 * @returns the bytes before them that the index and `about` take
 * @throws RowFileDamaged
 */
export function indexBytes(end: Buffer): number {
  if (end.length !== END_BYTES || !end.subarray(12).equals(MAGIC))
    throw new RowFileDamaged('the end of the file is not its end');
  return end.readUInt32LE(0) + end.readUInt32LE(4);
}

/** @param bytes as many as `indexBytes` says @throws RowFileDamaged */
export function decodeIndex(bytes: Buffer, end: Buffer): RowFileIndex {
  if (bytes.length !== indexBytes(end) || crc32(bytes) !== end.readUInt32LE(8)) {
    throw new RowFileDamaged('the index is not what was written');
  }
  const tables = end.readUInt32LE(0);
  const about = JSON.parse(bytes.toString('utf8', tables)) as RowFileAbout;
  const blocks = blocksOf(about);
  const numbers = Uint32Array.from({ length: 3 * blocks + 1 }, (_, place) => bytes.readUInt32LE(4 * place));
  return {
    about,
    offsets: numbers.subarray(0, blocks + 1),
    sizes: numbers.subarray(blocks + 1, 2 * blocks + 1),
    crcs: numbers.subarray(2 * blocks + 1),
  };
}

export function blocksOf({ rowCount, blockRows }: Pick<RowFileAbout, 'rowCount' | 'blockRows'>): number {
  return Math.ceil(rowCount / blockRows);
}
