/**
 * Leaves out the parts of a result in which a filter finds nothing, by the Bloom filters that were stored with them: for `=` and `in`, and for
 * what `and` and `or` make of these. Every read of a view that searches rows asks here first. Where a Bloom filter is missing, damaged, or made
 * of other hashes than today's, its part is searched.
 */
import { type FileHandle, open as openFile } from 'node:fs/promises';
import { listBlocks } from '../../domain/blocks.ts';
import { blockOfHash, mayHaveHash } from '../../domain/bloom-filter.ts';
import type { BloomFilters, Part, ResultSet } from '../../domain/result-set.ts';
import { sideBySide } from '../../domain/side-by-side.ts';
import { sumOf } from '../../domain/sum-of.ts';
import type { DuckDb } from '../../duckdb/duckdb.ts';
import { compileHashes, HASH_PROBE, isHashed } from '../../duckdb/value-hash.ts';
import { ObjectDamaged, type ResultStore } from '../../store/result-store.ts';
import { readIntact } from '../limits/open-all.ts';
import type { Value } from '../plan/predicate.ts';
import { mayMatch, type SoughtValue, soughtValues } from '../plan/sought-values.ts';
import type { View } from '../plan/view.ts';

export interface PartExclusionOptions {
  /** Not the store that `MissingResults` watches: a missing Bloom filter is no missing result. */
  readonly store: Pick<ResultStore, 'open'>;
  readonly duckDb: Pick<DuckDb, 'query' | 'queryPlanned'>;
  /** Told when Bloom filters cannot be read: of damaged ones once. */
  readonly onUnreadable: (executionId: string, error: unknown) => void;
}

/** Each value takes a read of each part, and adds to the chance that one is found wrongly. */
const VALUES_MAX = 64;
/** Where the store is far away each part is a request or two. */
const PARTS_AT_ONCE = 8;
/** At this number, those that were found damaged are forgotten, and tried again. */
const DAMAGED_MAX = 1000;

/** What has to be searched: the result, or some of its parts. */
export interface Searched {
  readonly resultSet: ResultSet;
  /** How many of how many parts are left; undefined where the filters say nothing. */
  readonly left: { readonly parts: number; readonly of: number } | undefined;
}

/** Hashes of the values sought, by column. */
type Hashes = ReadonlyMap<number, ReadonlyMap<Value, number>>;

export class PartExclusion {
  readonly #options: PartExclusionOptions;
  readonly #damaged = new Set<string>();
  /** Hashes of known values, as this process's DuckDB makes them: filters that were made by other hashes are not used. */
  #probe: string | undefined;

  constructor(options: PartExclusionOptions) {
    this.#options = options;
  }

  /** @throws the signal's reason */
  async exclude(executionId: string, resultSet: ResultSet, { rows }: View, signal: AbortSignal): Promise<Searched> {
    const columns = new Set(resultSet.parts.flatMap(({ bloomFilters }) => bloomFilters?.columns ?? []));
    const all = { resultSet, left: undefined };
    // Where other rows could match even if all these values were absent, nothing can be left out.
    if (rows.kind !== 'matching' || mayMatch(rows.predicate, ({ index }) => !columns.has(index))) return all;
    const sought = soughtValues(rows.predicate).filter(({ column }) => columns.has(column.index));
    if (sought.length === 0 || sought.length > VALUES_MAX) return all;
    const hashes = await this.#hash(sought, signal);
    const searched = new Set<Part>();
    await sideBySide(resultSet.parts, PARTS_AT_ONCE, async (part) => {
      const absent = await this.#absentIn(executionId, part, hashes, signal);
      if (mayMatch(rows.predicate, ({ index }, value) => absent.get(index)?.has(value) !== true)) searched.add(part);
    });
    const parts = resultSet.parts.filter((part) => searched.has(part));
    const left = { parts: parts.length, of: resultSet.parts.length };
    if (left.parts === left.of) return { resultSet, left };
    const rowCount = sumOf(parts, 'rowCount');
    const cellBytes = sumOf(parts, 'cellBytes');
    return { resultSet: { ...resultSet, parts, rowCount, cellBytes }, left };
  }

  async #hash(sought: readonly SoughtValue[], signal: AbortSignal): Promise<Hashes> {
    const { duckDb } = this.#options;
    this.#probe ??= String((await duckDb.query(HASH_PROBE, signal))[0]?.[0]);
    const hashes = new Map<number, ReadonlyMap<Value, number>>();
    for (const [index, ofColumn] of Map.groupBy(sought, ({ column }) => column.index)) {
      const [type] = ofColumn.map(({ column }) => column.type);
      const values = [...new Set(ofColumn.map(({ value }) => value))];
      if (type === undefined || !isHashed(type)) continue;
      const rows = await duckDb.queryPlanned(compileHashes(type.kind, values.map(String)), signal);
      hashes.set(index, new Map(values.map((value, at) => [value, requireHash(rows[at]?.[0])])));
    }
    return hashes;
  }

  /** Of the values sought those that the part does not have in their column. Of all others nothing is known. */
  async #absentIn(
    executionId: string,
    { bloomFilters }: Part,
    hashes: Hashes,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<number, ReadonlySet<Value>>> {
    const absent = new Map<number, ReadonlySet<Value>>();
    if (bloomFilters === undefined || bloomFilters.probe !== this.#probe) return absent;
    if (this.#damaged.has(bloomFilters.key)) return absent;
    try {
      for (const [column, values] of hashes) {
        const place = bloomFilters.columns.indexOf(column);
        if (place >= 0) absent.set(column, await this.#absentOf(bloomFilters, place, values, signal));
      }
      return absent;
    } catch (error) {
      signal.throwIfAborted();
      if (this.#damaged.size >= DAMAGED_MAX) this.#damaged.clear();
      if (error instanceof ObjectDamaged) this.#damaged.add(bloomFilters.key);
      this.#options.onUnreadable(executionId, error);
      return new Map();
    }
  }

  /** Those of the values that the filter at this place does not have. @throws ObjectDamaged, the filesystem's error */
  async #absentOf(
    filters: BloomFilters,
    place: number,
    values: ReadonlyMap<Value, number>,
    signal: AbortSignal,
  ): Promise<ReadonlySet<Value>> {
    // Only this filter's bytes are checked, and fetched where the store is far away.
    await using object = await this.#options.store.open(filters, { from: place, to: place + 1 }, signal);
    await using file = await openFile(object.path);
    return await readIntact([object], async () => {
      const absent = new Set<Value>();
      for (const [value, hash] of values) {
        if (!(await isFound(file, filters, place, hash))) absent.add(value);
      }
      return absent;
    });
  }
}

async function isFound(file: FileHandle, filters: BloomFilters, place: number, hash: number): Promise<boolean> {
  const filter = listBlocks(filters.blocks)[place];
  if (filter === undefined) throw new ObjectDamaged(filters.key, 'its manifest is damaged');
  const { offset, bytes } = blockOfHash(filter.bytes, hash);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, filter.offset + offset);
  if (bytesRead < bytes) throw new ObjectDamaged(filters.key, 'it is shorter than it was');
  return mayHaveHash(new DataView(buffer.buffer, buffer.byteOffset, bytes), hash);
}

function requireHash(hash: unknown): number {
  if (typeof hash !== 'number') throw new TypeError(`DuckDB made ${typeof hash} of a value that was to be hashed`);
  return hash;
}
