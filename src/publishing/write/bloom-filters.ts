/**
 * The Bloom filters of a part, made while it is measured (domain/bloom-filter.ts): one for each of its first columns whose values are texts,
 * bytes or UUIDs, in a file beside the part. For three columns that takes a tenth of what measuring and writing the part take.
 */
import { open } from 'node:fs/promises';
import { addHashes, emptyBloomFilter, foldBloomFilter } from '../../domain/bloom-filter.ts';
import type { ColumnType } from '../../domain/column-type.ts';
import type { BloomFilters } from '../../domain/result-set.ts';
import { letOthersRun } from '../../domain/time.ts';
import type { DuckDb } from '../../duckdb/duckdb.ts';
import { storedColumn } from '../../duckdb/storage-type.ts';
import { HASH_PROBE, isHashed, valueHash } from '../../duckdb/value-hash.ts';
import { checksumWithBlocks } from '../../files/block-checksums.ts';

/** Filters on their way: where they are staged, and all that the manifest says of them but their key. */
export interface StagedBloomFilters extends Omit<BloomFilters, 'key'> {
  readonly path: string;
}

/**
 * A part of fewer bytes is searched in the time that a look at its filters takes, or two: a hundred thousand rows of ten columns. Only the first
 * part of a result has to have as many.
 */
export const BLOOM_BYTES_MIN = 4 * 1024 * 1024;
/** Hashes of a part's rows take 4 MB in memory for each column. */
const COLUMNS_MAX = 8;
/** Hashes that are put into a filter in one turn of the event loop: a millisecond or two. */
const STEP_HASHES = 65_536;
/** Says what the file is. Behind the filters, where a part has its footer. */
const MARK = 'QRSBLOOM';

/** Positions of the columns that get a filter. */
export function bloomColumns(types: readonly ColumnType[]): readonly number[] {
  return [...types.keys()].filter((index) => isHashed(types[index] as ColumnType)).slice(0, COLUMNS_MAX);
}

/** SQL for the hash of a row's value in a column. */
export function bloomHash(column: number): string {
  return valueHash(storedColumn(column));
}

/**
 * @param hashes of all rows, by column
 * @param path the file that is written
 */
export async function writeBloomFilters(
  duckDb: Pick<DuckDb, 'query'>,
  hashes: ReadonlyMap<number, Uint32Array>,
  path: string,
  signal: AbortSignal,
): Promise<StagedBloomFilters> {
  const [[probe] = []] = await duckDb.query(HASH_PROBE, signal);
  const columns = [...hashes.keys()];
  const bytes: number[] = [];
  {
    await using file = await open(path, 'w');
    for (const ofRows of hashes.values()) {
      const filter = await filterOf(ofRows, signal);
      await file.writeFile(filter);
      bytes.push(filter.byteLength);
    }
    await file.writeFile(MARK);
  }
  const layout = { rows: columns.map(() => 1), bytes: [...bytes, MARK.length] };
  const { sha256, bytes: objectBytes, blocks } = await checksumWithBlocks(path, layout, signal);
  return { path, objectBytes, sha256, blocks, columns, probe: String(probe) };
}

async function filterOf(hashes: Uint32Array, signal: AbortSignal): Promise<Uint8Array> {
  const filter = emptyBloomFilter(hashes.length);
  for (let from = 0; from < hashes.length; from += STEP_HASHES) {
    addHashes(filter, hashes.subarray(from, from + STEP_HASHES));
    await letOthersRun();
    signal.throwIfAborted();
  }
  const { buffer, byteOffset, byteLength } = foldBloomFilter(filter);
  return new Uint8Array(buffer, byteOffset, byteLength);
}
