/** How one type of a Parquet file becomes a stored one: the column type, and the SQL that turns a value into what is stored. */
import type { ColumnType } from '../domain/column-type.ts';
import { storageType } from './storage-type.ts';

export interface StoredConversion {
  readonly type: ColumnType;
  /** SQL for the stored value of `expression`, a value of the DuckDB type. */
  readonly stored: (expression: string) => string;
  /** SQL for the text that `ConversionOptions.fail` is given for a value. */
  readonly shown?: (expression: string) => string;
}

export interface ConversionOptions {
  /** Instants of nanoseconds become timestamp(9), in UTC; else those are kept that are whole microseconds, with their zone. */
  readonly asNanos: boolean;
  /** SQL that ends the statement, given SQL for the text of a value that cannot be stored. */
  readonly fail: (text: string) => string;
}

/** The value is stored as it is. */
export function same(type: ColumnType): StoredConversion {
  return { type, stored: (expression) => expression };
}

export function cast(type: ColumnType): StoredConversion {
  return { type, stored: (expression) => `CAST(${expression} AS ${storageType(type)})` };
}
