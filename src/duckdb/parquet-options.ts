/** How we write Parquet files, stored ones and those that are sent: the options of a COPY. */
import { dictionaryOptions } from './parquet-dictionary.ts';

/**
 * Without bloom filters: DuckDB 1.5 looks binary and floating values up in them wrongly (results/compile/equality.ts), and whoever reads
 * our files may do so with it. They save little: an absent value of few is told in 2 ms with them in a part of a million rows, without in 4.
 */
export function parquetOptions(compression: 'zstd' | 'lz4_raw', rowGroupRows: number, columnCount: number): string {
  const size = `ROW_GROUP_SIZE ${rowGroupRows}, ${dictionaryOptions(columnCount)}`;
  return `FORMAT parquet, COMPRESSION ${compression}, ${size}, WRITE_BLOOM_FILTER false`;
}

/** For a file that is there already, and empty: else DuckDB would write another beside it, and move that into its place. */
export const INTO_FILE = 'USE_TMP_FILE false';
