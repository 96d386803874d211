/**
 * From a file to staged parts. Types are inferred from a sample and hold for every row, or the statement ends: then they are
 * inferred again from all rows, once.
 */

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { formatColumnType } from '../../domain/column-type.ts';
import { counted } from '../../domain/counted.ts';
import { nearest } from '../../domain/nearest.ts';
import { type Column, ROW_GROUP_ROWS_MIN } from '../../domain/result-set.ts';
import { shortened } from '../../domain/shortened.ts';
import { sumOf } from '../../domain/sum-of.ts';
import type { Sleep } from '../../domain/time.ts';
import { isOutOfMemory } from '../../duckdb/duckdb.ts';
import { PublishError } from '../publish-error.ts';
import { openCsv } from '../sources/csv/csv-source.ts';
import { faultText } from '../sources/in-our-words.ts';
import { KEYS_UNKNOWN } from '../sources/json/json-relation.ts';
import { openJson } from '../sources/json/json-source.ts';
import { openParquet } from '../sources/parquet/parquet-source.ts';
import {
  type InvalidValue,
  invalidValueOf,
  isSelfExplanatory,
  type Source,
  type SourceContext,
  statementOver,
} from '../sources/source.ts';
import type { FileKind } from '../sources/source-file.ts';
import type { StagedWrites } from '../staging-budget.ts';
import { declareInstead } from './declare-instead.ts';
import type { StagedPart } from './measure-part.ts';
import { type PartLayout, type PartsTarget, type StagedParts, writeParts } from './part-writer.ts';
import { writePreSample } from './pre-sample.ts';

/** A value is quoted in an error up to this many characters. */
const VALUE_LENGTH_MAX = 100;

/** How far a conversion has come. */
export interface RowsDone {
  readonly rows: number;
  /** Of the whole input; undefined while it is not known. */
  readonly rowsTotal: number | undefined;
  /** Cell bytes. */
  readonly bytes: number;
}

export interface Conversion {
  readonly context: SourceContext;
  readonly kind: FileKind;
  /** Names of columns that the input must have, since whoever publishes it declared their types; `context` may know more types. */
  readonly declared: readonly string[];
  /** Where the parts are staged; not there yet. */
  readonly folder: string;
  readonly layout: PartLayout;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly sleep: Sleep;
  readonly onRows: (done: RowsDone) => void;
}

export interface Converted extends StagedParts {
  readonly columns: readonly Column[];
  readonly sample: StagedPart | undefined;
}

/**
 * @throws PublishError naming the line, the row or the column; DuckDB's own error where its memory is too little; the signal's
 *   reason once it is aborted.
 */
export async function convert(conversion: Conversion, signal: AbortSignal): Promise<Converted> {
  const { context, declared, layout, folder, ...effects } = conversion;
  const staged = new RemovedTogether(context.staged);
  let source = await openSource(context, conversion.kind, signal);
  checkDeclared(declared, source);
  let widened = false;
  let groups = layout;
  for (;;) {
    try {
      const write = (during: AbortSignal, onRows: PartsTarget['onRows']) =>
        writeParts(context.duckDb, source, { folder, layout: groups, sleep: effects.sleep, staged, onRows }, during);
      const written = await withCheck(write, source, effects.onRows, signal);
      const columns = source.columns.map(({ name, type }) => ({ name, type }));
      const types = columns.map(({ type }) => type);
      const draw = { path: join(folder, 'pre-sample.parquet'), layout: groups, random: effects.random };
      const sample = await writePreSample(context.duckDb, { parts: written.parts, types }, draw, signal);
      await staged.take(sample?.objectBytes ?? 0);
      return { ...written, columns, sample };
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof Error)) throw error;
      await rm(folder, { recursive: true, force: true });
      staged.giveAll();
      if (!widened && isBeyondSample(error, source)) {
        widened = true;
        source = await source.widen(signal);
      } else if (groups.rowGroupRows > ROW_GROUP_ROWS_MIN && isOutOfMemory(error)) {
        groups = { ...layout, rowGroupRows: ROW_GROUP_ROWS_MIN };
      } else throw await explain(error, context, source, signal);
    }
  }
}

/** Counts what is written to the folder of parts, which is removed as a whole if the parts must be written again. */
class RemovedTogether {
  readonly #staged: StagedWrites;
  #taken = 0;

  constructor(staged: StagedWrites) {
    this.#staged = staged;
  }

  async take(bytes: number): Promise<void> {
    await this.#staged.take(bytes);
    this.#taken += bytes;
  }

  giveAll(): void {
    this.#staged.give(this.#taken);
    this.#taken = 0;
  }
}

/** Both at once; a failure of one ends the other, and is the failure of both. */
async function withCheck(
  write: (signal: AbortSignal, onRows: PartsTarget['onRows']) => Promise<StagedParts>,
  { check, count }: Pick<Source, 'check' | 'count'>,
  onRows: Conversion['onRows'],
  signal: AbortSignal,
): Promise<StagedParts> {
  const failed = new AbortController();
  const during = AbortSignal.any([signal, failed.signal]);
  const fail = (error: unknown) => {
    failed.abort(error);
    throw failed.signal.reason;
  };
  const done = { rows: 0, rowsTotal: undefined as number | undefined, bytes: 0 };
  const tell = (more: Partial<typeof done>) => onRows({ ...Object.assign(done, more) });
  const told = <T extends number | undefined>(rowsTotal: T): T => {
    tell({ rowsTotal });
    return rowsTotal;
  };
  // If counting fails, so does reading, which says more about the file.
  const counting = count?.(during).then(told, () => undefined);
  const [written, checked] = await Promise.allSettled([
    write(during, (rows, bytes) => tell({ rows, bytes })).catch(fail),
    check?.(during, told)
      .then((rowsTotal) => (rowsTotal === undefined ? undefined : told(rowsTotal)))
      .catch(fail),
  ]);
  await counting;
  if (checked.status === 'rejected') throw checked.reason;
  if (written.status === 'rejected') throw written.reason;
  const staged = written.value;
  const rows = sumOf(staged.parts, 'rowCount');
  // DuckDB loses all rows below a header with a line end inside of a name, in some files.
  if (checked.value !== undefined && !staged.truncated && checked.value !== rows) {
    throw new PublishError(
      `the file has ${counted(checked.value, 'row')} and ${rows} were read: is there a line end in a column name, or are there line ends of two kinds?`,
    );
  }
  return staged;
}

function openSource(context: SourceContext, kind: FileKind, signal: AbortSignal): Promise<Source> {
  switch (kind.kind) {
    case 'csv':
      return openCsv(context, signal);
    case 'json':
      return openJson(context, kind.layout, signal);
    case 'parquet':
      return openParquet(context, signal);
    default:
      return kind satisfies never;
  }
}

function checkDeclared(declared: Conversion['declared'], source: Source): void {
  const names = source.columns.map((column) => column.name);
  for (const name of declared) {
    if (names.includes(name)) continue;
    const near = nearest(name, names).map((found) => JSON.stringify(found));
    const hint = near.length === 0 ? '' : `; did you mean ${near.join(' or ')}?`;
    throw new PublishError(`types name the column ${JSON.stringify(name)}, which the input does not have${hint}`);
  }
}

function isBeyondSample(error: Error, source: Source): boolean {
  const invalidValue = invalidValueOf(error);
  if (invalidValue === undefined) return error.message.includes(KEYS_UNKNOWN);
  return source.columns[invalidValue.index]?.inferred === true;
}

async function explain(error: Error, context: SourceContext, source: Source, signal: AbortSignal): Promise<Error> {
  if (isSelfExplanatory(error)) return error;
  const invalidValue = invalidValueOf(error);
  const column = invalidValue && source.columns[invalidValue.index];
  if (invalidValue === undefined || column === undefined) {
    return asPublishError(await source.explain(error, signal));
  }
  const row = await findRow(context, source, invalidValue, signal);
  const where = row === undefined ? '' : `row ${row}, `;
  const value = JSON.stringify(shortened(invalidValue.value, VALUE_LENGTH_MAX));
  const type = formatColumnType(column.type);
  const hint = declareInstead(column.type, invalidValue.value);
  return new PublishError(`${where}column ${JSON.stringify(column.name)}: ${value} cannot be stored as ${type}${hint}`);
}

/** An error that explains itself stays as it is. Any other is reported as a fault of the service, not of the file. */
function asPublishError(error: Error): Error {
  return isSelfExplanatory(error) ? error : new PublishError(faultText(error.message), { cause: error });
}

/** The first row with the value that did not fit, counted from 1 without the header. */
async function findRow(
  context: SourceContext,
  source: Source,
  invalidValue: InvalidValue,
  signal: AbortSignal,
): Promise<number | undefined> {
  const raw = source.columns[invalidValue.index]?.raw ?? '';
  const relation = `(SELECT CAST(${raw} AS VARCHAR) AS v, row_number() OVER () AS n FROM ${source.relation})`;
  const { text, values } = statementOver({ ...source, relation }, 'n', 'WHERE v = $2 LIMIT 1');
  try {
    const [row] = await context.duckDb.query({ text, values: [...values, invalidValue.value] }, signal);
    return row === undefined ? undefined : Number(row[0]);
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}
