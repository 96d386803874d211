/**
 * Look-ups in an index: the blocks that they need are read, and each one's checksum is compared, since bytes on disk can rot.
 */
import { letOthersRun } from '../../../domain/time.ts';
import { BLOCK_ENTRIES, countWhile, decodeNumbers, EntryBlock } from './entry-block.ts';
import type { EntryRange } from './entry-ranges.ts';
import { type BlockPlace, IndexDamaged, type IndexTable, NO_RANK, requireIntact } from './index-format.ts';

/** Neighbouring blocks are read in one go, up to this many bytes. */
const READ_BYTES_MAX = 1024 * 1024;
/** Reading and checking one takes some 10 µs of the event loop; a filter of hundreds of terms looks at hundreds of blocks. */
const BLOCKS_IN_A_TURN = 32;
/** Between two rank blocks that are needed, up to this many others are read in the same go. */
const RANK_GAP_MAX = 8;

/** For one look-up, or several of one request: it keeps the blocks of entries that it has read. */
export class IndexLookUp {
  readonly table: IndexTable;
  readonly #read: (places: readonly BlockPlace[]) => Promise<Uint8Array>;
  readonly #entries = new Map<number, Promise<EntryBlock>>();
  #checked = 0;

  /** @param read gives the stored bytes of neighbouring blocks, unchecked */
  constructor(table: IndexTable, read: (places: readonly BlockPlace[]) => Promise<Uint8Array>) {
    this.table = table;
    this.#read = read;
  }

  /**
   * The number of entries whose key is less than `key`, or, with `orEqual`, at most `key`.
   * @throws IndexDamaged; the file system's error
   */
  async countBelow(key: Uint8Array, orEqual: boolean): Promise<number> {
    const { firstKeys } = this.table;
    const isBelow = (order: number) => order < 0 || (orEqual && order === 0);
    const blocks = countWhile(firstKeys.count, (index) => isBelow(firstKeys.compare(index, key)));
    if (blocks === 0) return 0;
    const block = await this.#block(blocks - 1);
    return (blocks - 1) * BLOCK_ENTRIES + block.countBelow(key, orEqual);
  }

  /** All entries with the same key as entry `number`. */
  async equalTo(number: number): Promise<EntryRange> {
    const entry = number % BLOCK_ENTRIES;
    const start = number - entry;
    const block = await this.#block(start / BLOCK_ENTRIES);
    const equal = block.equalTo(entry);
    const [from, to] = [start + equal.from, start + equal.to];
    // If the key is the first or the last of its block, equal ones may be in other blocks.
    return {
      from: equal.from === 0 && from > 0 ? await this.countBelow(block.key(entry), false) : from,
      to: equal.to === block.count && to < this.table.valueCount ? await this.countBelow(block.key(entry), true) : to,
    };
  }

  /** The positions of a range of entries, in the order of the entries. */
  async positions({ from, to }: EntryRange): Promise<Uint32Array> {
    const [first, last] = [Math.floor(from / BLOCK_ENTRIES), Math.floor(Math.max(from, to - 1) / BLOCK_ENTRIES)];
    // Finding the range's bounds has usually read this block already.
    const known = first === last ? this.#entries.get(first) : undefined;
    if (known !== undefined) {
      const start = first * BLOCK_ENTRIES;
      return (await known).positions.slice(from - start, to - start);
    }
    const decode = (bytes: Uint8Array, block: number) => this.#decode(bytes, block).positions;
    return await this.#gather(this.table.entryBlocks, { from, to }, decode);
  }

  /** The positions of rows without a value: the `from`-th to the `to`-th of them, in order. */
  async nulls({ from, to }: EntryRange): Promise<Uint32Array> {
    return await this.#gather(this.table.nullBlocks, { from, to }, decodeNumbers);
  }

  /**
   * The rank of each position (ascending): the number of the first entry with the same value, or `NO_RANK` where the row has no
   * value.
   */
  async ranks(positions: Uint32Array): Promise<Uint32Array> {
    const { rankBlocks } = this.table;
    const ranks = new Uint32Array(positions.length);
    const needed = [...new Set(positions.map((position) => Math.floor(position / BLOCK_ENTRIES)))];
    const stretches = stretchesOf(needed, rankBlocks);
    const read = await Promise.all(stretches.map(({ from, to }) => this.#read(rankBlocks.slice(from, to))));
    let [stretch, number] = [0, -1];
    let block: Uint32Array = new Uint32Array(0);
    for (const [index, position] of positions.entries()) {
      const wanted = Math.floor(position / BLOCK_ENTRIES);
      if (wanted !== number) {
        while (wanted >= (stretches[stretch]?.to ?? Number.POSITIVE_INFINITY)) stretch += 1;
        number = wanted;
        block = decodeNumbers(checkBlock(read[stretch], rankBlocks, stretches[stretch]?.from ?? 0, number));
      }
      ranks[index] = block[position % BLOCK_ENTRIES] ?? NO_RANK;
    }
    return ranks;
  }

  async #block(number: number): Promise<EntryBlock> {
    const known = this.#entries.get(number);
    if (known !== undefined) return await known;
    const { entryBlocks } = this.table;
    const reading = this.#nextTurn()
      .then(async () => await this.#read(entryBlocks.slice(number, number + 1)))
      .then((bytes) => this.#decode(checkBlock(bytes, entryBlocks, number, number), number));
    this.#entries.set(number, reading);
    return await reading;
  }

  /** @param checked bytes of entry block `number` */
  #decode(checked: Uint8Array, number: number): EntryBlock {
    const { valueCount, keyBytes } = this.table;
    return new EntryBlock(checked, Math.min(BLOCK_ENTRIES, valueCount - number * BLOCK_ENTRIES), keyBytes);
  }

  /** Before each block that is checked: lets others run before it is one too many in this turn. */
  async #nextTurn(): Promise<void> {
    this.#checked += 1;
    if (this.#checked % BLOCKS_IN_A_TURN === 0) await letOthersRun();
  }

  /** The `from`-th to the `to`-th number of a list that is stored in blocks. */
  async #gather(
    places: readonly BlockPlace[],
    { from, to }: EntryRange,
    decode: (checked: Uint8Array, block: number) => Uint32Array,
  ): Promise<Uint32Array> {
    const gathered = new Uint32Array(to - from);
    const [first, end] = [Math.floor(from / BLOCK_ENTRIES), Math.ceil(to / BLOCK_ENTRIES)];
    const needed = Array.from({ length: Math.max(0, end - first) }, (_, index) => first + index);
    for (const stretch of stretchesOf(to > from ? needed : [], places)) {
      const bytes = await this.#read(places.slice(stretch.from, stretch.to));
      for (let block = stretch.from; block < stretch.to; block += 1) {
        await this.#nextTurn();
        const start = block * BLOCK_ENTRIES;
        const positions = decode(checkBlock(bytes, places, stretch.from, block), block);
        const part = positions.subarray(Math.max(0, from - start), Math.min(positions.length, to - start));
        gathered.set(part, Math.max(0, start - from));
      }
    }
    return gathered;
  }
}

/** Takes one block out of the bytes of several, of which the first is `from`. @throws IndexDamaged where its checksum differs */
function checkBlock(
  bytes: Uint8Array | undefined,
  places: readonly BlockPlace[],
  from: number,
  number: number,
): Uint8Array {
  const [first, place] = [places[from], places[number]];
  if (bytes === undefined || first === undefined || place === undefined) {
    throw new IndexDamaged(`an index has no block ${number}`);
  }
  const start = place.offset - first.offset;
  const block = bytes.subarray(start, start + place.bytes);
  requireIntact(block, place.crc);
  return block;
}

/** Groups blocks by number into reads. */
function stretchesOf(needed: readonly number[], places: readonly BlockPlace[]): readonly EntryRange[] {
  const stretches: { from: number; to: number; bytes: number }[] = [];
  for (const block of needed) {
    const last = stretches.at(-1);
    const between = last === undefined ? Number.POSITIVE_INFINITY : block - last.to;
    const bytes = places
      .slice(between > RANK_GAP_MAX ? block : last?.to, block + 1)
      .reduce((sum, place) => sum + place.bytes, 0);
    if (last === undefined || between > RANK_GAP_MAX || last.bytes + bytes > READ_BYTES_MAX) {
      stretches.push({ from: block, to: block + 1, bytes: places[block]?.bytes ?? 0 });
    } else {
      last.to = block + 1;
      last.bytes += bytes;
    }
  }
  return stretches;
}
