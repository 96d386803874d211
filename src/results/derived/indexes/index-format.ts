/**
 * An index file: the values of one column of a result in their order, each with the position of its row. All numbers are little-endian. Nothing but the
 * table is compressed: to unpack a block takes longer than all else of a look-up, and to pack all of them takes as long as sorting the column.
 *
 * ```
 * entry blocks   of 256 entries in order of (key, position), the last one fewer (entry-block.ts)
 * null blocks    of 256 positions of rows without a value: u32 each
 * rank blocks    of 256 ranks, in order of position: of each row the number of the first entry with its value; 0xffffffff without one
 * table          a zstd frame, see `encodeTable`: of each block its bytes, their CRC-32, and of each entry block its first key
 * trailer        32 bytes: magic, identity (index-origin.ts), offset (f64), stored bytes and CRC-32 of the table
 * ```
 */
import { crc32, constants as zlib, zstdCompressSync } from 'node:zlib';
import { aligned, encodeNumbers } from './entry-block.ts';

export const NO_RANK = 0xffffffff;
export const TRAILER_BYTES = 32;
export const IDENTITY_BYTES = 8;
/** Positions have 32 bits, and the last number means "none". */
export const ROWS_MAX = 0xffffffff;

const MAGIC = Buffer.from('QRSINDX4');

export interface BlockPlace {
  readonly offset: number;
  readonly bytes: number;
  readonly crc: number;
}

export interface IndexTable {
  readonly rowCount: number;
  readonly valueCount: number;
  /** Bytes of every key; 0 where they differ. */
  readonly keyBytes: number;
  /** Some keys are only the beginning of their value. Then equal keys may stand for different values, and there are no ranks. */
  readonly hasCutKeys: boolean;
  readonly entryBlocks: readonly BlockPlace[];
  readonly nullBlocks: readonly BlockPlace[];
  /** Empty where there are no ranks. */
  readonly rankBlocks: readonly BlockPlace[];
  /** The key of the first entry of each entry block. */
  readonly firstKeys: KeyList;
}

/** Keys one after another. */
export class KeyList {
  readonly #ends: Uint32Array;
  readonly bytes: Uint8Array;

  constructor(ends: Uint32Array, bytes: Uint8Array) {
    this.#ends = ends;
    this.bytes = bytes;
  }

  get count(): number {
    return this.#ends.length;
  }

  get ends(): Uint32Array {
    return this.#ends;
  }

  /** Negative, 0 or positive: the key at `index` comes before, equals, or comes after `key`. */
  compare(index: number, key: Uint8Array): number {
    return Buffer.compare(this.bytes.subarray(index === 0 ? 0 : this.#ends[index - 1], this.#ends[index]), key);
  }
}

/** The file is not as it was written. */
export class IndexDamaged extends Error {}

/** @throws IndexDamaged where the stored bytes are not those that were written */
export function requireIntact(bytes: Uint8Array, crc: number): void {
  if (crc32(bytes) !== crc) throw new IndexDamaged('a block of an index is not what was written');
}

const HEADER_WORDS = 7;

/**
 * `[rows][values][bytes of a key][cut keys][entry blocks][null blocks][rank blocks]`, then `[bytes][crc]` of each block, the
 * ends of the first keys, and the first keys; all of it as a zstd frame.
 */
export function encodeTable(table: IndexTable): Uint8Array {
  const blocks = [...table.entryBlocks, ...table.nullBlocks, ...table.rankBlocks];
  const header = [
    ...[table.rowCount, table.valueCount, table.keyBytes, Number(table.hasCutKeys)],
    ...[table.entryBlocks.length, table.nullBlocks.length, table.rankBlocks.length],
  ];
  const words = Uint32Array.from([...header, ...blocks.flatMap(({ bytes, crc }) => [bytes, crc])]);
  const bytes = Buffer.concat([encodeNumbers(words), encodeNumbers(table.firstKeys.ends), table.firstKeys.bytes]);
  return zstdCompressSync(bytes, { params: { [zlib.ZSTD_c_compressionLevel]: 1 } });
}

/** @param unpacked what is in the frame */
export function decodeTable(unpacked: Uint8Array): IndexTable {
  const bytes = aligned(unpacked);
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, Math.floor(bytes.length / 4));
  const [rowCount = 0, valueCount = 0, keyBytes = 0, cut, entries = 0, nulls = 0, ranks = 0] = words;
  let offset = 0;
  const places = Array.from({ length: entries + nulls + ranks }, (_, index) => {
    const at = HEADER_WORDS + 2 * index;
    const place = { offset, bytes: words[at] ?? 0, crc: words[at + 1] ?? 0 };
    offset += place.bytes;
    return place;
  });
  const endsAt = HEADER_WORDS + 2 * places.length;
  return {
    rowCount,
    valueCount,
    keyBytes,
    hasCutKeys: cut === 1,
    entryBlocks: places.slice(0, entries),
    nullBlocks: places.slice(entries, entries + nulls),
    rankBlocks: places.slice(entries + nulls),
    firstKeys: new KeyList(words.subarray(endsAt, endsAt + entries), bytes.subarray(4 * (endsAt + entries))),
  };
}

/** @param identity hex: what the index is made from */
export function encodeTrailer(identity: string, offset: number, table: Uint8Array): Uint8Array {
  const trailer = Buffer.alloc(TRAILER_BYTES);
  MAGIC.copy(trailer);
  trailer.write(identity, 8, IDENTITY_BYTES, 'hex');
  trailer.writeDoubleLE(offset, 16);
  trailer.writeUInt32LE(table.length, 24);
  trailer.writeUInt32LE(crc32(table), 28);
  return trailer;
}

/** @returns where the table is @throws IndexDamaged, also where the index is that of another column or result */
export function decodeTrailer(trailer: Buffer, identity: string): BlockPlace {
  if (trailer.length !== TRAILER_BYTES || !trailer.subarray(0, 8).equals(MAGIC)) {
    throw new IndexDamaged('an index has no end');
  }
  if (trailer.toString('hex', 8, 8 + IDENTITY_BYTES) !== identity) {
    throw new IndexDamaged('an index was made from something else');
  }
  return { offset: trailer.readDoubleLE(16), bytes: trailer.readUInt32LE(24), crc: trailer.readUInt32LE(28) };
}
