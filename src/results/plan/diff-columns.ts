/** Which columns two results are compared on, and what a difference of them is called. Pure. */
import { formatColumnType, isNested } from '../../domain/column-type.ts';
import type { Column, ResultSet } from '../../domain/result-set.ts';
import { RequestError } from '../../errors/errors.ts';
import { columnIndex } from './find-column.ts';

/** A column that both results have, with the same type. */
export interface ComparedColumn extends Column {
  /** Its index in the result `from`, and in the result `to`. */
  readonly from: number;
  readonly to: number;
}

export interface DiffColumns {
  /** In the order of the result `to`. */
  readonly compared: readonly ComparedColumn[];
  /** Indexes in `compared`; none: rows are compared as a whole. */
  readonly key: readonly number[];
  /** Names of columns that only one of the results has, or that have other types in the other. */
  readonly onlyFrom: readonly string[];
  readonly onlyTo: readonly string[];
}

/**
 * @param keyNames undefined: rows are compared as a whole
 * @throws RequestError unknown_column · invalid_parameter
 */
export function diffColumnsOf(
  from: Pick<ResultSet, 'columns'>,
  to: Pick<ResultSet, 'columns'>,
  keyNames: readonly string[] | undefined,
): DiffColumns {
  const places = new Map(from.columns.map((column, index) => [nameAndType(column), index]));
  const compared = to.columns.flatMap((column, index) => {
    const place = places.get(nameAndType(column));
    return place === undefined ? [] : [{ ...column, from: place, to: index }];
  });
  if (compared.length === 0) {
    throw new RequestError('invalid_parameter', 'the two results have no column of the same name and type in common');
  }
  const common = new Set(compared.map(nameAndType));
  const others = ({ columns }: Pick<ResultSet, 'columns'>) =>
    columns.filter((column) => !common.has(nameAndType(column))).map(({ name }) => name);
  const key = [...new Set((keyNames ?? []).map((name) => keyIndex(name, compared)))];
  return { compared, key, onlyFrom: others(from), onlyTo: others(to) };
}

/** The columns of the difference: what has become of the row, and the compared ones. */
export function columnsOfDiff({ compared }: Pick<DiffColumns, 'compared'>): readonly Column[] {
  const names = new Set(compared.map(({ name }) => name.toLowerCase()));
  let name = 'change';
  while (names.has(name)) name = `_${name}`;
  return [{ name, type: { kind: 'varchar' } }, ...compared.map(({ name, type }) => ({ name, type }))];
}

function nameAndType({ name, type }: Column): string {
  return `${formatColumnType(type)} ${name}`;
}

function keyIndex(name: string, compared: readonly ComparedColumn[]): number {
  const index = columnIndex(name, compared, 'key, of the columns in common');
  const type = compared[index]?.type;
  if (type !== undefined && isNested(type)) {
    const problem = `key: "${name}" is ${formatColumnType(type)}, and values of that type have no order`;
    throw new RequestError('invalid_parameter', problem);
  }
  return index;
}
