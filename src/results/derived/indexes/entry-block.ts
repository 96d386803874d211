/**
 * Some neighbouring entries of an index, in order of (key, position), as one block of its file. Sorted keys mostly begin alike, so what all keys of a block
 * begin with is stored once. A block is read where it lies, without unpacking it. All numbers are little-endian.
 *
 * ```
 * [bytes that all keys begin with u16][bytes of each end u16: 0, 2 or 4][positions u32 …][ends of the rests of the keys, where keys differ in length]
 * [what all keys begin with][rests of the keys …][zeros up to a multiple of four bytes]
 * ```
 */
import type { EntryRange } from './entry-ranges.ts';

/** A power of two: entry n is in block n >> 8. */
export const BLOCK_ENTRIES = 256;

const HEADER_BYTES = 4;

/** Entries one after another, as they are sorted. */
export interface Entries {
  readonly count: number;
  readonly positions: Uint32Array;
  /** Where each key ends in `keys`; undefined where every key has the same number of bytes. */
  readonly keyEnds: Uint32Array | undefined;
  readonly keys: Uint8Array;
}

/** Where a key begins and ends in `keys`. @param keyBytes bytes of every key, where they do not differ */
export function keyRange({ keyEnds }: Entries, keyBytes: number, entry: number): EntryRange {
  if (keyEnds === undefined) return { from: entry * keyBytes, to: (entry + 1) * keyBytes };
  return { from: entry === 0 ? 0 : (keyEnds[entry - 1] ?? 0), to: keyEnds[entry] ?? 0 };
}

/** @param keyBytes bytes of every key; 0 where they differ @param range at least one entry */
export function encodeEntryBlock(entries: Entries, keyBytes: number, { from, to }: EntryRange): Uint8Array {
  const { positions, keys, keyEnds } = entries;
  const [first, last] = [keyRange(entries, keyBytes, from), keyRange(entries, keyBytes, to - 1)];
  const prefix = commonBytes(keys, first, last);
  const count = to - from;
  const restBytes = last.to - first.from - count * prefix;
  const endBytes = keyEnds === undefined ? 0 : restBytes <= 0xffff ? 2 : 4;
  const textAt = HEADER_BYTES + count * (4 + endBytes);
  const block = new Uint8Array(alignedBytes(textAt + prefix + restBytes));
  new Uint16Array(block.buffer, 0, 2).set([prefix, endBytes]);
  new Uint32Array(block.buffer, HEADER_BYTES, count).set(positions.subarray(from, to));
  const ends = endBytes === 0 ? undefined : endsIn(block, HEADER_BYTES + 4 * count, count, endBytes);
  block.set(keys.subarray(first.from, first.from + prefix), textAt);
  const restsAt = textAt + prefix;
  let at = restsAt;
  let keyFrom = first.from;
  for (let i = 0; i < count; i += 1) {
    const keyTo = keyEnds === undefined ? keyFrom + keyBytes : (keyEnds[from + i] ?? 0);
    for (let byte = keyFrom + prefix; byte < keyTo; byte += 1) {
      block[at] = keys[byte] ?? 0;
      at += 1;
    }
    if (ends !== undefined) ends[i] = at - restsAt;
    keyFrom = keyTo;
  }
  return block;
}

export class EntryBlock {
  readonly positions: Uint32Array;
  readonly #prefix: Uint8Array;
  /** Of the rests; undefined where each has `#restBytes`. */
  readonly #ends: Uint16Array | Uint32Array | undefined;
  readonly #restBytes: number;
  readonly #rests: Uint8Array;

  /** @param stored as it was encoded: its checksum has been compared @param count of its entries @param keyBytes as when it was encoded */
  constructor(stored: Uint8Array, count: number, keyBytes: number) {
    const bytes = aligned(stored);
    const [prefix = 0, endBytes = 0] = new Uint16Array(bytes.buffer, bytes.byteOffset, 2);
    this.positions = new Uint32Array(bytes.buffer, bytes.byteOffset + HEADER_BYTES, count);
    const endsAt = HEADER_BYTES + 4 * count;
    const textAt = endsAt + count * endBytes;
    this.#ends = endBytes === 0 ? undefined : endsIn(bytes, endsAt, count, endBytes);
    this.#prefix = bytes.subarray(textAt, textAt + prefix);
    this.#rests = bytes.subarray(textAt + prefix);
    this.#restBytes = keyBytes - prefix;
  }

  get count(): number {
    return this.positions.length;
  }

  /** The number of entries whose key is less than `key`, or, with `orEqual`, at most `key`. */
  countBelow(key: Uint8Array, orEqual: boolean): number {
    const prefix = this.#prefix;
    const order = prefix.length === 0 ? 0 : Buffer.compare(prefix, key.subarray(0, prefix.length));
    if (order !== 0) return order < 0 ? this.count : 0;
    const rest = key.subarray(prefix.length);
    return countWhile(this.count, (entry) => {
      const compared = Buffer.compare(this.#rest(entry), rest);
      return compared < 0 || (orEqual && compared === 0);
    });
  }

  /** The entries with the same key as `entry`. */
  equalTo(entry: number): EntryRange {
    const rest = this.#rest(entry);
    let [from, to] = [entry, entry + 1];
    while (from > 0 && Buffer.compare(this.#rest(from - 1), rest) === 0) from -= 1;
    while (to < this.count && Buffer.compare(this.#rest(to), rest) === 0) to += 1;
    return { from, to };
  }

  key(entry: number): Uint8Array {
    return Buffer.concat([this.#prefix, this.#rest(entry)]);
  }

  #rest(entry: number): Uint8Array {
    const ends = this.#ends;
    if (ends === undefined) return this.#rests.subarray(entry * this.#restBytes, (entry + 1) * this.#restBytes);
    return this.#rests.subarray(entry === 0 ? 0 : ends[entry - 1], ends[entry]);
  }
}

/** A block of numbers alone. */
export function encodeNumbers(numbers: Uint32Array): Uint8Array {
  return new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
}

export function decodeNumbers(stored: Uint8Array): Uint32Array {
  const bytes = aligned(stored);
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
}

/** How many of the first `count` numbers `holds` accepts. It must accept all up to one number, and none after it. */
export function countWhile(count: number, holds: (index: number) => boolean): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A copy unless the bytes begin at a multiple of four, since words are read in place. */
export function aligned(bytes: Uint8Array): Uint8Array {
  return bytes.byteOffset % 4 === 0 ? bytes : new Uint8Array(bytes);
}

function alignedBytes(bytes: number): number {
  return bytes + (-bytes & 3);
}

function endsIn({ buffer, byteOffset }: Uint8Array, at: number, count: number, endBytes: number) {
  const [start, isShort] = [byteOffset + at, endBytes === 2];
  return isShort ? new Uint16Array(buffer, start, count) : new Uint32Array(buffer, start, count);
}

function commonBytes(keys: Uint8Array, a: EntryRange, b: EntryRange): number {
  const most = Math.min(a.to - a.from, b.to - b.from);
  let common = 0;
  while (common < most && keys[a.from + common] === keys[b.from + common]) common += 1;
  return common;
}
