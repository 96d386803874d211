/**
 * Compiles the difference of two results. Rows that both have, equally often, are left out: of a row that one has more often, those that
 * come last are left. With a key, the rows that are left are paired within it in stored order: a pair is a change.
 *
 * Windows count null as equal to null and NaN to NaN, and no row is joined with others, so that very many equal rows take no more time
 * than different ones.
 */
import { Parameters } from '../../duckdb/parameters.ts';
import { INTO_FILE, parquetOptions } from '../../duckdb/parquet-options.ts';
import { quoteText } from '../../duckdb/quoting.ts';
import type { Statement } from '../../duckdb/statement.ts';
import { storageType, storedColumn } from '../../duckdb/storage-type.ts';
import type { ComparedColumn, DiffColumns } from '../plan/diff-columns.ts';
import { partsAt } from './range.ts';
import { distinctOrder, POSITION } from './sort.ts';

export interface DiffSources {
  /** Paths of the parts. */
  readonly from: readonly string[];
  readonly to: readonly string[];
}

/** Writes the difference to one file: c0 is the change, c1 and on are the compared columns. Answers with one row: how many were written. */
export function compileDiff(
  { compared, key }: Pick<DiffColumns, 'compared' | 'key'>,
  sources: DiffSources,
  { path, rowGroupRows }: { readonly path: string; readonly rowGroupRows: number },
): Statement {
  const parameters = new Parameters();
  const names = compared.map((_, index) => storedColumn(index + 1));
  const position = POSITION.join(', ');
  const text = [
    `WITH sides AS (${side(0, 'from', sources.from, compared, parameters)} UNION ALL ${side(1, 'to', sources.to, compared, parameters)}),`,
    `numbered AS (SELECT *, row_number() OVER (PARTITION BY side, ${names.join(', ')} ORDER BY ${position}) AS nth FROM sides),`,
    `matched AS (SELECT *, count(*) OVER (PARTITION BY nth, ${names.join(', ')}) AS sides_with FROM numbered),`,
    'remaining AS (SELECT * EXCLUDE (nth, sides_with) FROM matched WHERE sides_with = 1)',
    key.length === 0 ? wholeRows(names, position) : pairedRows(compared, key, names, position),
  ].join(' ');
  const options = parquetOptions('lz4_raw', rowGroupRows, compared.length + 1);
  return { text: `COPY (${text}) TO ${quoteText(path)} (${options}, ${INTO_FILE})`, values: parameters.values };
}

/** How many rows of each change the files have: a row for each. */
export function compileChangeCounts(paths: readonly string[]): Statement {
  const parameters = new Parameters();
  return { text: `SELECT c0, count(*) FROM ${partsAt(paths, parameters)} GROUP BY c0`, values: parameters.values };
}

function side(
  number: 0 | 1,
  which: 'from' | 'to',
  paths: readonly string[],
  compared: readonly ComparedColumn[],
  parameters: Parameters,
): string {
  if (paths.length === 0) {
    const none = compared.map(({ type }, index) => `NULL::${storageType(type)} AS ${storedColumn(index + 1)}`);
    return `SELECT ${number} AS side, 0::UBIGINT AS file_index, 0::BIGINT AS file_row_number, ${none.join(', ')} WHERE false`;
  }
  const columns = compared.map((column, index) => `${storedColumn(column[which])} AS ${storedColumn(index + 1)}`);
  return `SELECT ${number} AS side, ${[...POSITION, ...columns].join(', ')} FROM ${partsAt(paths, parameters)}`;
}

/** What is new first, then what is gone, each in stored order. */
function wholeRows(names: readonly string[], position: string): string {
  const change = "CASE side WHEN 1 THEN 'added' ELSE 'removed' END AS c0";
  return `SELECT ${[change, ...names].join(', ')} FROM remaining ORDER BY side DESC, ${position}`;
}

function pairedRows(
  compared: readonly ComparedColumn[],
  key: readonly number[],
  names: readonly string[],
  position: string,
): string {
  const keys = key.map((index) => storedColumn(index + 1)).join(', ');
  const placed = `SELECT *, row_number() OVER (PARTITION BY side, ${keys} ORDER BY ${position}) AS place FROM remaining`;
  const paired = `SELECT *, count(*) OVER (PARTITION BY place, ${keys}) AS pair FROM (${placed})`;
  const change =
    "CASE WHEN pair = 2 THEN CASE side WHEN 1 THEN 'changed_to' ELSE 'changed_from' END WHEN side = 1 THEN 'added' ELSE 'removed' END AS c0";
  const order = key.flatMap((index) => {
    const type = compared[index]?.type;
    return type === undefined ? [] : distinctOrder(storedColumn(index + 1), type).map((term) => `${term} NULLS LAST`);
  });
  return `SELECT ${[change, ...names].join(', ')} FROM (${paired}) ORDER BY ${[...order, 'place', 'side'].join(', ')}`;
}
