/**
 * A source: what is being published, as a relation that DuckDB can read in order, with a way to turn each of its columns into
 * stored values. One kind of file, one module that makes such a source: csv-source, json-source, parquet-source.
 */
import type { ColumnType } from '../../domain/column-type.ts';
import { type DuckDb, isOutOfMemory } from '../../duckdb/duckdb.ts';
import { invalidValue } from '../../duckdb/source-type.ts';
import type { Statement } from '../../duckdb/statement.ts';
import { isStorageFull } from '../../errors/storage-full.ts';
import { isSystemFailure } from '../../errors/system-code.ts';
import { PublishError } from '../publish-error.ts';
import type { StagedWrites } from '../staging-budget.ts';

/** Lets a failed statement say which column it failed in, and with what value. */
export const INVALID_VALUE = 'invalid value in column ';

export interface SourceColumn {
  readonly name: string;
  readonly type: ColumnType;
  /** SQL over the relation for the value as it stands in the file. */
  readonly raw: string;
  /** SQL over the relation that `stored` mentions as p0, p1, … by the column's position: worked out once for each row. */
  readonly parsed?: string;
  /** SQL over the relation for the stored value; ends the statement for a value that is not of the type. */
  readonly stored: string;
  /** The type was guessed from the values, so a value that does not fit is no error of the file's. */
  readonly inferred: boolean;
  /** How `parsed` and `stored` came about, where other columns may be read in the same way. */
  readonly rule?: ReadingRule;
}

/** How a value is read, whatever column it stands in. */
export interface ReadingRule {
  /** The same for columns whose values are read alike. */
  readonly key: string;
  /** SQL over the value as it stands in the file and the name of what it was parsed to; `fail` for one that does not fit. */
  readonly read: (raw: string, parsed: string, fail: string) => { readonly parsed?: string; readonly stored: string };
}

/** Column `index`, which stands in the relation as s0, s1, … and is read as others may be. */
export function columnReadAs(
  { name, type, inferred }: Pick<SourceColumn, 'name' | 'type' | 'inferred'>,
  index: number,
  rule: ReadingRule,
): SourceColumn {
  const raw = `s${index}`;
  return { name, type, raw, ...rule.read(raw, `p${index}`, failIn(index, raw)), inferred, rule };
}

export interface Source {
  readonly columns: readonly SourceColumn[];
  /** What follows FROM: the rows in their order. Its only parameter is $1, the path. */
  readonly relation: string;
  /** SQL over the relation for the list of the columns' raw values, of a source that reads them as a list. */
  readonly list?: string;
  readonly path: string;
  /**
   * Reads the file beside the conversion, for what DuckDB would let pass.
   * @param onCount told about how many rows there are, where that is seen on the way
   * @returns how many rows there are, where it sees them
   * @throws PublishError naming where
   */
  readonly check?: (signal: AbortSignal, onCount: (rows: number) => void) => Promise<number | undefined>;
  /** How many rows there are, where that can be found out cheaply; told beside the conversion, to show how far that is. */
  readonly count?: (signal: AbortSignal) => Promise<number>;
  /** The same source with types inferred from every row, after a value beyond the sample did not fit. */
  readonly widen: (signal: AbortSignal) => Promise<Source>;
  /** Turns DuckDB's complaint about the file, one that does not say enough, into one that names the line, the column or the row. */
  readonly explain: (error: Error, signal: AbortSignal) => Promise<Error>;
}

export interface SourceContext {
  readonly duckDb: DuckDb;
  /** Absolute path, glob characters escaped, below a directory that `duckDb` may read. */
  readonly path: string;
  /** The same path for the filesystem. */
  readonly file: string;
  readonly types: ReadonlyMap<string, ColumnType>;
  /** Of a CSV file, where it was said. */
  readonly delimiter?: string | undefined;
  /** Absolute; a folder for files of this source's own, thrown away in the end. */
  readonly scratch: string;
  /** So small a file that all its cells fit into one value. */
  readonly isSmall: boolean;
  /** Told of the bytes of these files. */
  readonly staged: StagedWrites;
}

/** Opens a source; what DuckDB complains of meanwhile is told as the kind of file explains it. */
export async function opened(
  open: () => Promise<Source>,
  explain: Source['explain'],
  signal: AbortSignal,
): Promise<Source> {
  try {
    return await open();
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof Error && !isSelfExplanatory(error) ? await explain(error, signal) : error;
  }
}

/** What we found ourselves, and a lack of memory or of disk and whatever else the system refuses, which is no fault of the file. */
export function isSelfExplanatory(error: Error): boolean {
  return error instanceof PublishError || isOutOfMemory(error) || isStorageFull(error) || isSystemFailure(error);
}

/** SQL for the list of the raw values of some columns. */
export function rawValuesOf(
  { list, columns }: Pick<Source, 'list'> & { readonly columns: readonly Pick<SourceColumn, 'raw'>[] },
  indexes: readonly number[],
): string {
  if (list === undefined) return `[${indexes.map((index) => columns[index]?.raw).join(', ')}]`;
  return indexes.length === columns.length
    ? list
    : `list_select(${list}, [${indexes.map((index) => index + 1).join(', ')}])`;
}

export function statementOver(source: Pick<Source, 'relation' | 'path'>, select: string, tail = ''): Statement {
  return { text: `SELECT ${select} FROM ${source.relation} ${tail}`, values: [source.path] };
}

/** SQL that ends the statement because the value of column `index` does not fit. */
export function failIn(index: number, raw: string): string {
  return invalidValue(`${INVALID_VALUE}${index}: `, raw);
}

export interface InvalidValue {
  readonly index: number;
  readonly value: string;
}

/** What a statement's error says did not fit; undefined when it failed for another reason. */
export function invalidValueOf(error: unknown): InvalidValue | undefined {
  if (!(error instanceof Error)) return undefined;
  const match = /invalid value in column ([0-9]+): ([\s\S]*)$/.exec(error.message);
  return match?.[1] === undefined ? undefined : { index: Number(match[1]), value: match[2] ?? '' };
}
