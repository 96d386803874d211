/** Where a plan's rows come from: the result, a view of it, or the pre-sample that a sample is drawn from. */
import type { ResultSet } from '../../domain/result-set.ts';
import { randomSeed } from '../../domain/sample.ts';
import type { ProjectedColumn } from '../compile/row-encoding.ts';
import type { ReadPlan } from '../plan/read-plan.ts';
import type { View } from '../plan/view.ts';

export interface Slice {
  readonly offset: number;
  readonly rowCountMax: number;
}

export interface RowSource {
  readonly slice: Slice;
  /** The result, or its pre-sample. */
  readonly resultSet: ResultSet;
  /** Undefined: the rows in stored order. */
  readonly view: View | undefined;
}

/** @param random uniform in [0, 1) */
export function rowSourceOf({ selection }: ReadPlan, resultSet: ResultSet, random: () => number): RowSource {
  if (selection.kind === 'slice') return { slice: selection, resultSet, view: selection.view };
  const source = sampleSource(resultSet, selection.rowCount);
  const slice = { offset: 0, rowCountMax: selection.rowCount };
  return { slice, resultSet: source, view: sampleView(selection, source, random) };
}

export function projectColumns(plan: ReadPlan, resultSet: ResultSet): readonly ProjectedColumn[] {
  return plan.projection.flatMap((index): readonly ProjectedColumn[] => {
    const column = resultSet.columns[index];
    return column === undefined ? [] : [{ ...column, index }];
  });
}

/** A larger part would be nearly the same rows each time. */
const PRE_SAMPLE_SHARE = 1 / 2;

/** The pre-sample, if it has enough rows: a random part of it is as random as a random part of the whole. */
function sampleSource(resultSet: ResultSet, rowCount: number): ResultSet {
  const { preSample } = resultSet;
  if (preSample === undefined || rowCount > PRE_SAMPLE_SHARE * preSample.rowCount) return resultSet;
  return { ...resultSet, rowCount: preSample.rowCount, cellBytes: preSample.cellBytes, parts: [preSample] };
}

function sampleView(
  selection: Extract<ReadPlan['selection'], { readonly kind: 'sample' }>,
  resultSet: ResultSet,
  random: () => number,
): View {
  const seed = selection.seed === undefined ? randomSeed(random) : BigInt(selection.seed);
  const draw = { seed, count: selection.rowCount, total: resultSet.rowCount };
  const firstRows = resultSet.parts.map((part) => part.firstRow);
  return { rows: { kind: 'drawn', draw, firstRows }, sortKeys: selection.sortKeys };
}
