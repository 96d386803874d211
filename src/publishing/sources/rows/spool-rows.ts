/**
 * Rows that a program hands over, one object after the other, as lines of JSON in a file: a type is inferred from all of them, and so
 * they are read more than once. One batch of lines is in memory at a time; the next row is asked for when the disk has taken it.
 */
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ColumnType } from '../../../domain/column-type.ts';
import { PublishError } from '../../publish-error.ts';
import type { Spool } from '../source-file.ts';
import { RowColumns } from './row-columns.ts';
import { classOf, jsonText, ValueProblem, type WrittenValue, writtenValue } from './row-values.ts';

export type Rows = AsyncIterable<object> | Iterable<object>;

const BATCH_LENGTH = 65_536;
/** Of JSON's reader. */
const ROW_BYTES_MAX = 16_000_000;
const COLUMNS_MAX = 10_000;

export interface RowsSpool extends Spool {
  readonly declared: ReadonlyMap<string, ColumnType>;
}

/**
 * @returns the types of the columns that need no inference
 * @throws PublishError naming the row and the column that cannot be stored; what `rows` throws; the signal's reason
 */
export async function spoolRows(
  rows: Rows,
  { declared, path, onRead, staged }: RowsSpool,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ColumnType>> {
  const columns = new RowColumns(declared);
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  const written = pipeline(
    Readable.from(batches(rows, columns, { onRead, staged }), { objectMode: true, highWaterMark: 1 }),
    createWriteStream(path),
    {
      signal,
    },
  );
  try {
    // Whoever hands rows over may be waiting for something that never comes, and then cannot be stopped.
    await Promise.race([written, aborted]);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
  if (columns.count === 0 && declared.size === 0) {
    throw new PublishError('there is no row with a column in it, and no types are declared, so there are no columns');
  }
  return columns.types();
}

async function* batches(
  rows: Rows,
  columns: RowColumns,
  { onRead, staged }: Pick<Spool, 'onRead' | 'staged'>,
): AsyncGenerator<string> {
  let batch = '';
  let bytes = 0;
  let number = 0;
  for await (const row of rows) {
    number += 1;
    batch += `${lineOf(row, number, columns)}\n`;
    if (batch.length < BATCH_LENGTH) continue;
    await staged.take(Buffer.byteLength(batch));
    yield batch;
    bytes += Buffer.byteLength(batch);
    onRead(bytes);
    batch = '';
  }
  await staged.take(Buffer.byteLength(batch));
  if (batch !== '') yield batch;
}

function lineOf(row: unknown, number: number, columns: RowColumns): string {
  requireRow(row, number);
  const members: string[] = [];
  for (const [name, value] of Object.entries(row)) {
    const cell = cellOf(value, name, number);
    const problem = columns.add(name, cell.kind, number);
    if (problem !== undefined) throw problemIn(number, name, problem);
    if (columns.count > COLUMNS_MAX)
      throw new PublishError(`row ${number}: the rows have more than ${COLUMNS_MAX} columns`);
    members.push(`${nameText(name, number)}:${cell.json}`);
  }
  const line = `{${members.join(',')}}`;
  // A character has at most three bytes for each of its units.
  if (line.length > ROW_BYTES_MAX / 3 && Buffer.byteLength(line) > ROW_BYTES_MAX) {
    throw new PublishError(`row ${number} takes more than ${ROW_BYTES_MAX / 1e6} MB as JSON, expected less`);
  }
  return line;
}

function requireRow(row: unknown, number: number): asserts row is object {
  if (typeof row === 'object' && row !== null && !isCollection(row)) return;
  const found = typeof row === 'object' && row !== null ? `an object of the class ${classOf(row)}` : String(row);
  throw new PublishError(`row ${number}: expected an object with a value for each column, found ${found}`);
}

/** Their members are not their properties: as rows they would have no columns, or numbers for names. */
function isCollection(row: object): boolean {
  return Symbol.iterator in row || row instanceof Date || row instanceof WeakMap || row instanceof WeakSet;
}

function cellOf(value: unknown, name: string, number: number): WrittenValue {
  try {
    return writtenValue(value);
  } catch (error) {
    throw error instanceof ValueProblem ? problemIn(number, name, error.message) : error;
  }
}

function nameText(name: string, number: number): string {
  try {
    return jsonText(name);
  } catch (error) {
    throw error instanceof ValueProblem ? problemIn(number, name, 'its name holds half of a surrogate pair') : error;
  }
}

function problemIn(number: number, name: string, problem: string): PublishError {
  return new PublishError(`row ${number}, column ${JSON.stringify(name)}: ${problem}`);
}
