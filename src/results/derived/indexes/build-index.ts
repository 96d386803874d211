/**
 * Builds an index file. DuckDB sorts the column's values with the positions of their rows, within its memory limit, and hands
 * them over a few blocks at a time.
 */
import { open } from 'node:fs/promises';
import type { ColumnType } from '../../../domain/column-type.ts';
import { NEVER } from '../../../domain/time.ts';
import type { DuckDb } from '../../../duckdb/duckdb.ts';
import { Parameters } from '../../../duckdb/parameters.ts';
import type { Statement } from '../../../duckdb/statement.ts';
import { storedColumn } from '../../../duckdb/storage-type.ts';
import { partAt, partsAt } from '../../compile/range.ts';
import { compileSortKeys } from '../../compile/sort.ts';
import { inTurn, readAhead } from '../../limits/read-ahead.ts';
import { BLOCK_ENTRIES, type Entries } from './entry-block.ts';
import { ROWS_MAX } from './index-format.ts';
import { IndexWriter } from './index-writer.ts';
import { digitsKey, KEY_LENGTH_MAX, type KeyForm, keyBytesOf, keyFormOf, toKeys } from './ordered-key.ts';

export interface IndexBuild {
  /** Paths of the result's parts, in order. */
  readonly paths: readonly string[];
  /** The position in the whole result of each part's first row. */
  readonly firstRows: readonly number[];
  readonly rowCount: number;
  /** Path of rows that were drawn at random from the result; undefined where it is too small to have any. Not read unless `mayGroup`. */
  readonly samplePath: string | undefined;
  readonly column: { readonly index: number; readonly type: ColumnType };
  /** Of the index: the file says what it was made from. */
  readonly identity: string;
  /** Path of the index. No file is there yet. */
  readonly destination: string;
  /** The most that the file may take. */
  readonly bytesMax: number;
}

/** Entries that are in memory at a time: a quarter of what DuckDB keeps together in a table, so that each step reads from one such group. */
const STEP_ENTRIES = 120 * BLOCK_ENTRIES;

/**
 * Texts of at most so many different values, among 100,000 drawn at random, are grouped, and only the groups are sorted: a third of the time with 5,000
 * values, nine tenths with 100,000. DuckDB keeps what it groups in memory, so of more rows all are sorted, which it can do on disk.
 */
const GROUPED_VALUES_MAX = 16_384;
const GROUPED_ROWS_MAX = 4 * 1024 * 1024;

/**
 * @param duckDb of which nobody else uses a table called `sorted` at the same time
 * @returns bytes of the file
 * @throws NotBuildable; TypeError where the column has no keys; the signal's reason; what DuckDB or the filesystem throws. Then the file may be half
 *   written.
 */
export async function buildIndex(duckDb: DuckDb, build: IndexBuild, signal: AbortSignal): Promise<number> {
  const { column, rowCount, identity, destination } = build;
  const form = keyFormOf(column.type);
  if (form === undefined || rowCount > ROWS_MAX)
    throw new TypeError(`${rowCount} values of ${column.type.kind} have no index`);
  try {
    const few = await hasFewValues(duckDb, build, form, signal);
    await duckDb.query(few ? groupStatement(build, form) : sortStatement(build, form), signal);
    const measure = `SELECT count(v), coalesce(bool_or(${isCut(form)}), false) FROM sorted`;
    const [[counted, hasCutKeys] = []] = await duckDb.query({ text: measure, values: [] }, signal);
    const valueCount = Number(counted);
    await using file = await open(destination, 'wx', 0o600);
    const shape = { identity, rowCount, keyBytes: keyBytesOf(form) ?? 0, hasCutKeys: hasCutKeys === true };
    const writer = new IndexWriter(file, shape, build.bytesMax);
    const read = inTurn(async (step: Step, during: AbortSignal) => await readStep(duckDb, form, step, during));
    // DuckDB hands over the next step while this thread writes the one before; in turn, since two steps of long texts may not fit into its memory.
    for await (const entries of readAhead(stepsOf(0, valueCount), 1, read, signal)) await writer.add(entries);
    for (const [from, to] of stepsOf(valueCount, rowCount)) {
      const [positions] = await duckDb.fixedColumns(stepStatement('p', from, to), signal);
      await writer.addNulls(wordsOf(positions));
    }
    return await writer.finish();
  } finally {
    await duckDb.query({ text: 'DROP TABLE IF EXISTS sorted', values: [] }, NEVER);
  }
}

/** A table of values (or what keys are made from) and positions, nulls last. */
function sortStatement(build: IndexBuild, form: KeyForm): Statement {
  const { column } = build;
  const parameters = new Parameters();
  const rows = rowsToSort(build, form, parameters);
  const order =
    form.kind === 'digits'
      ? compileSortKeys([{ columnIndex: column.index, type: column.type, descending: false, nullsFirst: false }])
      : ['v NULLS LAST'];
  const text = `CREATE TABLE sorted AS SELECT v, p FROM ${rows} ORDER BY ${order.join(', ')}, p`;
  return { text, values: parameters.values };
}

/** The same table, made by grouping. */
function groupStatement(build: IndexBuild, form: KeyForm): Statement {
  const parameters = new Parameters();
  const rows = rowsToSort(build, form, parameters);
  const groups = `SELECT v, list(p ORDER BY p) AS positions FROM ${rows} GROUP BY v ORDER BY v NULLS LAST`;
  return {
    text: `CREATE TABLE sorted AS SELECT v, unnest(positions) AS p FROM (${groups})`,
    values: parameters.values,
  };
}

/** Each row's value as `v` and its position as `p`, beside the stored column. */
function rowsToSort({ paths, firstRows, column }: IndexBuild, form: KeyForm, parameters: Parameters): string {
  const starts = `${parameters.add(firstRows.map(BigInt))}::BIGINT[]`;
  const stored = storedColumn(column.index);
  const position = `((${starts})[file_index::BIGINT + 1] + file_row_number)::UINTEGER`;
  return `(SELECT ${handedOver(stored, form)} AS v, ${position} AS p, ${stored} FROM ${partsAt(paths, parameters)})`;
}

/** Whether it depends on the values how the entries of a column are put in order. */
export function mayGroup({ rowCount, column }: Pick<IndexBuild, 'rowCount' | 'column'>): boolean {
  return keyFormOf(column.type)?.kind === 'text' && rowCount <= GROUPED_ROWS_MAX;
}

async function hasFewValues(duckDb: DuckDb, build: IndexBuild, form: KeyForm, signal: AbortSignal): Promise<boolean> {
  const { samplePath, column } = build;
  if (samplePath === undefined || !mayGroup(build)) return false;
  const parameters = new Parameters();
  const sample = partAt(samplePath, parameters);
  // Counting keeps what it has counted in memory: long texts would not fit.
  const text = `SELECT count(DISTINCT hash(${handedOver(storedColumn(column.index), form)})) FROM ${sample}`;
  const [[values] = []] = await duckDb.query({ text, values: parameters.values }, signal);
  return Number(values) <= GROUPED_VALUES_MAX;
}

/** What is sorted and handed over. A text of fewer bytes than a key may have characters is not looked at: its characters need not be counted. */
function handedOver(stored: string, form: KeyForm): string {
  if (form.kind === 'text') {
    return `CASE WHEN strlen(${stored}) < ${KEY_LENGTH_MAX} THEN ${stored} ELSE left(${stored}, ${KEY_LENGTH_MAX}) END`;
  }
  return form.kind === 'binary' ? `left(hex(${stored}), ${2 * KEY_LENGTH_MAX})` : stored;
}

/** SQL that says whether a key may be only the beginning of its value. */
function isCut({ kind }: KeyForm): string {
  if (kind === 'text')
    return `CASE WHEN strlen(v) < ${KEY_LENGTH_MAX} THEN false ELSE length(v) >= ${KEY_LENGTH_MAX} END`;
  return kind === 'binary' ? `strlen(v) >= ${2 * KEY_LENGTH_MAX}` : 'false';
}

type FixedForm = KeyForm & { readonly kind: 'whole' | 'floating' };

/** Whether values are handed over in DuckDB's own bytes; other values come as text. */
function isFixed(form: KeyForm): form is FixedForm {
  return form.kind === 'whole' || form.kind === 'floating';
}

/**
 * Reads entries as they lie in the table, which asks for no order: the writer refuses any other order than that of their keys. Each
 * statement reads all of them at once, so that a value and its position cannot be those of different rows.
 */
async function readStep(duckDb: DuckDb, form: KeyForm, [from, to]: Step, signal: AbortSignal): Promise<Entries> {
  if (isFixed(form)) {
    const [positions, values] = await duckDb.fixedColumns(stepStatement('p, v', from, to), signal);
    if (values === undefined) throw new Error('DuckDB gives no values');
    return { count: to - from, positions: wordsOf(positions), keyEnds: undefined, keys: toKeys(values, form) };
  }
  const texts = `list(p), list(strlen(v)::UINTEGER), encode(string_agg(v, ''))`;
  const [[positions, lengths, joined] = []] = await duckDb.query(stepStatement(texts, from, to), signal);
  const isComplete = positions instanceof Uint32Array && lengths instanceof Uint32Array && joined instanceof Uint8Array;
  if (!isComplete) throw new Error('DuckDB gives no texts');
  return { count: to - from, positions, ...textKeys(joined, lengths, form) };
}

/** @param lengths of the texts, in bytes */
function textKeys(joined: Uint8Array, lengths: Uint32Array, form: KeyForm): Pick<Entries, 'keyEnds' | 'keys'> {
  const texts = Buffer.from(joined.buffer, joined.byteOffset, joined.byteLength);
  let end = 0;
  const ends = lengths.map((length) => {
    end += length;
    return end;
  });
  if (form.kind === 'text') return { keyEnds: ends, keys: texts };
  if (form.kind === 'binary')
    return { keyEnds: ends.map((at) => at / 2), keys: Buffer.from(texts.toString('latin1'), 'hex') };
  const signed = form.kind === 'digits' && form.signed;
  const keys = Array.from(ends, (to, index) => {
    const digits = texts.toString('latin1', index === 0 ? 0 : ends[index - 1], to);
    return digitsKey(BigInt(digits.replace('.', '')), signed);
  });
  return { keyEnds: undefined, keys: Buffer.concat(keys) };
}

/** A range of the table's rows: from the first (inclusive) to the second (exclusive). */
type Step = readonly [from: number, to: number];

function stepsOf(from: number, to: number): readonly Step[] {
  const count = Math.ceil((to - from) / STEP_ENTRIES);
  return Array.from({ length: count }, (_, index) => [
    from + index * STEP_ENTRIES,
    Math.min(to, from + (index + 1) * STEP_ENTRIES),
  ]);
}

function stepStatement(selected: string, from: number, to: number) {
  const text = `SELECT ${selected} FROM sorted WHERE rowid >= $1 AND rowid < $2`;
  return { text, values: [BigInt(from), BigInt(to)] };
}

function wordsOf(bytes: Uint8Array | undefined): Uint32Array {
  if (bytes === undefined) throw new Error('DuckDB gives no column');
  // Copied, since 32-bit words must begin at a multiple of four bytes.
  return new Uint32Array(Uint8Array.from(bytes).buffer);
}
