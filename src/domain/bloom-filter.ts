/**
 * A split block Bloom filter, as Parquet specifies it: a set of hashes of 32 bits that may hold more than was put into it, and never less. A
 * hash sets one bit in each of the eight words of one block of 32 bytes, so a question reads one block.
 */

/** Words of 32 bits, eight for each block; their number is a power of two. */
export type BloomFilter = Uint32Array;

const BLOCK_WORDS = 8;
const BLOCK_BYTES = 4 * BLOCK_WORDS;
/** Parquet's own: odd numbers, each of which spreads a hash over a word in another way. */
const SALTS = [0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31] as const;

/** Then one in a hundred hashes that were not put in is found all the same. */
const BITS_PER_HASH_MIN = 10;
/** What a filter with so many bits for each hash has set. */
const FILL_MAX = 0.56;

/** An empty filter that takes so many different hashes. */
export function emptyBloomFilter(hashCount: number): BloomFilter {
  const blocks = Math.ceil((hashCount * BITS_PER_HASH_MIN) / (8 * BLOCK_BYTES));
  return new Uint32Array(BLOCK_WORDS * 2 ** Math.ceil(Math.log2(Math.max(1, blocks))));
}

/** Puts hashes into the filter. */
export function addHashes(filter: BloomFilter, hashes: Uint32Array): void {
  const shift = shiftOf(filter.length / BLOCK_WORDS);
  const count = hashes.length;
  for (let at = 0; at < count; at += 1) {
    const hash = hashes[at] as number;
    const block = firstWordOf(hash, shift);
    // Written out, since a loop over the salts takes twice as long, and a publish does this for every row.
    (filter[block] as number) |= 1 << (Math.imul(hash, SALTS[0]) >>> 27);
    (filter[block + 1] as number) |= 1 << (Math.imul(hash, SALTS[1]) >>> 27);
    (filter[block + 2] as number) |= 1 << (Math.imul(hash, SALTS[2]) >>> 27);
    (filter[block + 3] as number) |= 1 << (Math.imul(hash, SALTS[3]) >>> 27);
    (filter[block + 4] as number) |= 1 << (Math.imul(hash, SALTS[4]) >>> 27);
    (filter[block + 5] as number) |= 1 << (Math.imul(hash, SALTS[5]) >>> 27);
    (filter[block + 6] as number) |= 1 << (Math.imul(hash, SALTS[6]) >>> 27);
    (filter[block + 7] as number) |= 1 << (Math.imul(hash, SALTS[7]) >>> 27);
  }
}

/** The same set in as few words as it needs: many rows may have few values. */
export function foldBloomFilter(filter: BloomFilter): BloomFilter {
  for (let folded = filter; ; ) {
    const half = folded.length > BLOCK_WORDS ? foldOnce(folded) : undefined;
    if (half === undefined || fillOf(half) > FILL_MAX) return folded;
    folded = half;
  }
}

/** A stretch of the bytes that a filter is stored as. */
export interface BloomBlock {
  readonly offset: number;
  readonly bytes: number;
}

/** Where the block lies that has the hash, if any has. @param filterBytes of the whole filter, as it is stored */
export function blockOfHash(filterBytes: number, hash: number): BloomBlock {
  return { offset: 4 * firstWordOf(hash, shiftOf(filterBytes / BLOCK_BYTES)), bytes: BLOCK_BYTES };
}

/** Whether the hash may have been put in. @param block the bytes of `blockOfHash`, little-endian */
export function mayHaveHash(block: DataView, hash: number): boolean {
  return SALTS.every((salt, word) => {
    return ((block.getUint32(4 * word, true) >>> (Math.imul(hash, salt) >>> 27)) & 1) === 1;
  });
}

/** The highest bits of a hash say which block it is in, so that neighbours are joined where a filter is folded. */
function shiftOf(blocks: number): number {
  return 32 - Math.log2(blocks);
}

function firstWordOf(hash: number, shift: number): number {
  // JavaScript shifts by 32 as by 0.
  return shift === 32 ? 0 : BLOCK_WORDS * (hash >>> shift);
}

function foldOnce(filter: BloomFilter): BloomFilter {
  const half = new Uint32Array(filter.length / 2);
  for (let at = 0; at < half.length; at += 1) {
    const first = 2 * at - (at % BLOCK_WORDS);
    half[at] = (filter[first] as number) | (filter[first + BLOCK_WORDS] as number);
  }
  return half;
}

/** Which share of the bits is set. */
function fillOf(filter: BloomFilter): number {
  let set = 0;
  for (let at = 0; at < filter.length; at += 1) set += bitsSet(filter[at] as number);
  return set / (32 * filter.length);
}

/** In a word: sums of two, four, then eight bits side by side, and the bytes of these together. */
function bitsSet(word: number): number {
  const twos = word - ((word >>> 1) & 0x55555555);
  const fours = (twos & 0x33333333) + ((twos >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
