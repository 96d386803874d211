/** Chooses the kind of chart and its columns by the columns' types, as far as the visitor has not chosen. */
import type { Column } from '../api/answers.ts';
import { isNumberType, isTimeType } from '../table/cell-text.ts';

export const CHARTS = ['line', 'area', 'bar', 'scatter', 'histogram'] as const;
export type ChartKind = (typeof CHARTS)[number];

/** In the address: the count of rows. */
export const ROWS = '*';

export interface Chart {
  readonly kind: ChartKind;
  /** Names of columns. */
  readonly x: string;
  /** '': the count of rows. */
  readonly y: string;
}

/** @param wished what the address says; what it leaves out, or is no column of the result, is chosen here */
export function chooseChart(all: readonly Column[], wished: Readonly<Record<'kind' | 'x' | 'y', string>>): Chart {
  // The address cannot say that a column without a name is meant.
  const columns = all.filter(({ name }) => name !== '');
  const named = (name: string) => columns.find((column) => column.name === name);
  const times = columns.filter(({ type }) => isTimeType(type));
  const numbers = columns.filter(({ type }) => isNumberType(type) && !isTimeType(type));
  const texts = columns.filter(({ type }) => type === 'varchar' || type === 'boolean');
  const x = named(wished.x) ?? times[0] ?? (numbers.length > 1 ? numbers[0] : (texts[0] ?? numbers[0])) ?? columns[0];
  const others = numbers.filter(({ name }) => name !== x?.name);
  const y = named(wished.y) ?? (wished.kind === 'histogram' || wished.y === ROWS ? undefined : others[0]);
  const kind = CHARTS.find((one) => one === wished.kind) ?? kindOf(x, y);
  return { kind, x: x?.name ?? '', y: y?.name ?? '' };
}

function kindOf(x: Column | undefined, y: Column | undefined): ChartKind {
  if (x === undefined) return 'bar';
  if (isTimeType(x.type)) return y === undefined ? 'histogram' : 'line';
  if (isNumberType(x.type)) return y === undefined ? 'histogram' : 'scatter';
  return 'bar';
}
