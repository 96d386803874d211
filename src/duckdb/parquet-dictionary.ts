/**
 * The room that DuckDB's Parquet writer sets apart for the dictionary of each text column of a row group: a megabyte where
 * nothing is said, whatever the texts are, so that a thousand columns take more memory than publishing may.
 */

const ALL_COLUMNS_BYTES = 64 * 1024 * 1024;
const COLUMN_BYTES_MAX = 1024 * 1024;
const COLUMN_BYTES_MIN = 16 * 1024;

/** The options of a `COPY … (FORMAT parquet, …)` of so many columns that bound their dictionaries together. */
export function dictionaryOptions(columnCount: number): string {
  const fitting = Math.floor(ALL_COLUMNS_BYTES / Math.max(1, columnCount));
  const bytes = Math.min(COLUMN_BYTES_MAX, Math.max(COLUMN_BYTES_MIN, fitting));
  return `STRING_DICTIONARY_PAGE_SIZE_LIMIT ${bytes}`;
}
