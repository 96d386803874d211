/**
 * Rows as the coordinator gave them → one Parquet file. The rows lie in files of JSON, each a list of rows, each row a list of cells;
 * DuckDB reads, converts and writes them, on an instance of its own that reaches these files and no others.
 */

import { formatColumnType } from '../../domain/column-type.ts';
import type { Column } from '../../domain/result-set.ts';
import { shortened } from '../../domain/shortened.ts';
import type { Sleep } from '../../domain/time.ts';
import { DuckDb, isOutOfMemory } from '../../duckdb/duckdb.ts';
import { escapeGlob } from '../../duckdb/escape-glob.ts';
import { parquetValueOf, TYPES_KEY } from '../../duckdb/parquet-value.ts';
import { quoteName, quoteText } from '../../duckdb/quoting.ts';
import { rowOrderOf } from '../../duckdb/row-order.ts';
import { invalidValue } from '../../duckdb/source-type.ts';
import { storedColumn } from '../../duckdb/storage-type.ts';
import { EngineError } from '../engine.ts';
import { partPath } from '../part-path.ts';
import { cellToStored } from './cell-values.ts';
import { columnTypeOf, type WireType } from './trino-types.ts';

export interface WireColumn {
  readonly name: string;
  readonly wire: WireType;
}

export interface RowFiles {
  /** Absolute; nothing else is in it. */
  readonly folder: string;
  /** Absolute, in the order of the rows. */
  readonly paths: readonly string[];
}

export interface WriteOptions {
  readonly threads: number;
  readonly memoryBytes: number;
  /** Absolute; where DuckDB spills what does not fit in memory. */
  readonly tempDirectory: string;
  readonly tempBytesMax: number;
  readonly sleep: Sleep;
}

/** Of one row, as JSON: DuckDB keeps twice as much for each of its threads. */
const ROW_BYTES_MAX = 16_777_216;
const CHARS_SHOWN = 200;
const WRONG_VALUE = 'trino-value:';
const WRONG_LENGTH = 'trino-row:';

/**
 * @param path absolute; the Parquet file to write
 * @returns how many rows were written
 * @throws EngineError
 */
export async function writeRows(
  columns: readonly WireColumn[],
  rows: RowFiles,
  path: string,
  options: WriteOptions,
  signal: AbortSignal,
): Promise<number> {
  await using duckDb = await DuckDb.open({
    threads: options.threads,
    memoryLimit: `${Math.floor(options.memoryBytes)}B`,
    tempDirectory: options.tempDirectory,
    tempSizeMax: `${options.tempBytesMax}B`,
    allowedDirectories: [rows.folder, options.tempDirectory],
    allowedPaths: [path, partPath(path)],
    sleep: options.sleep,
  });
  const statement = { text: copyStatement(columns, rows.paths, path), values: [] };
  try {
    if (rows.paths.length > 0 && (await rowOrderOf(duckDb, statement, signal)) !== 'kept') {
      throw new Error('DuckDB plans the reading of the rows so that they lose their order');
    }
    const [[written] = []] = await duckDb.query(statement, signal);
    return Number(written ?? 0);
  } catch (error) {
    signal.throwIfAborted();
    throw explain(error, columns);
  }
}

export function columnsOf(columns: readonly WireColumn[]): readonly Column[] {
  return columns.map(({ name, wire }) => ({ name, type: columnTypeOf(wire) }));
}

function copyStatement(columns: readonly WireColumn[], paths: readonly string[], path: string): string {
  const stored = columns.map(({ wire }, i) => {
    const cell = `cells[${i + 1}]`;
    return `${cellToStored(wire, cell, invalidValue(`${WRONG_VALUE}${i}:`, cell))} AS ${storedColumn(i)}`;
  });
  const values = columnsOf(columns).map(
    ({ name, type }, i) => `${parquetValueOf(type, storedColumn(i))} AS ${quoteName(name)}`,
  );
  const types = JSON.stringify(columnsOf(columns).map(({ type }) => formatColumnType(type)));
  // Publishing writes them again, in the row groups that pages need; here they only have to be read once.
  const options = `FORMAT parquet, COMPRESSION zstd, KV_METADATA {${quoteText(TYPES_KEY)}: ${quoteText(types)}}`;
  const rows = `SELECT ${stored.join(', ')} FROM (${cellsOf(paths, columns.length)})`;
  return `COPY (SELECT ${values.join(', ')} FROM (${rows})) TO ${quoteText(path)} (${options})`;
}

function cellsOf(paths: readonly string[], count: number): string {
  if (paths.length === 0) return 'SELECT CAST(NULL AS VARCHAR[]) AS cells LIMIT 0';
  const files = paths.map((path) => quoteText(escapeGlob(path))).join(', ');
  const read = `read_json([${files}], format = 'array', records = false, columns = {cells: 'VARCHAR[]'}, maximum_object_size = ${ROW_BYTES_MAX})`;
  const wrong = invalidValue(WRONG_LENGTH, 'len(cells)');
  return `SELECT CASE WHEN len(cells) = ${count} THEN cells ELSE ${wrong} END AS cells FROM ${read}`;
}

function explain(error: unknown, columns: readonly WireColumn[]): Error {
  if (isOutOfMemory(error)) {
    const message = 'the rows take more memory to store than they may (QRS_ENGINE_MEMORY)';
    return new EngineError('memory_limit', message, { cause: error });
  }
  const said = error instanceof Error ? error.message : String(error);
  const [, index, value = ''] = new RegExp(`${WRONG_VALUE}(\\d+):([^]*)`).exec(said) ?? [];
  const column = columns[Number(index ?? -1)];
  if (column !== undefined) {
    const name = JSON.stringify(column.name);
    const type = formatColumnType(columnTypeOf(column.wire));
    return new EngineError(
      'execution_error',
      `column ${name} is ${type} and cannot hold ${shown(value)}${adviceFor(column.wire, value)}`,
    );
  }
  if (said.includes('maximum_object_size')) {
    return new EngineError('result_limit', `a row takes more than ${ROW_BYTES_MAX} bytes as JSON`, { cause: error });
  }
  return new EngineError('engine_error', 'the rows that Trino gave cannot be read', { cause: error });
}

/** Trino writes the name of a zone, with which an hour of the year is there twice. */
function adviceFor(wire: WireType, value: string): string {
  return hasZone(wire) && /:\d\d(?:\.\d+)? (?!UTC\b)[A-Za-z]/.test(value)
    ? ": write it AT TIME ZONE 'UTC' in the SQL"
    : '';
}

function hasZone(wire: WireType): boolean {
  switch (wire.kind) {
    case 'scalar':
      return wire.type.kind === 'timestamp' && wire.type.withZone;
    case 'array':
      return hasZone(wire.element);
    case 'map':
      return hasZone(wire.value);
    case 'row':
      return wire.fields.some(({ type }) => hasZone(type));
    default:
      return wire satisfies never;
  }
}

function shown(value: string): string {
  return JSON.stringify(shortened(value, CHARS_SHOWN));
}
