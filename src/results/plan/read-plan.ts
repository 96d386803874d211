/**
 * The read plan: which rows, in which order, which columns, and what happens at the datapoint limit. Pure: a request and a
 * manifest go in, and every name and number in the plan has been checked against the result's columns.
 */
import { rowsWithin } from '../../domain/datapoints.ts';
import type { Column, ResultSet } from '../../domain/result-set.ts';
import { RequestError } from '../../errors/errors.ts';
import { ExpressionError } from '../../expression/expression-error.ts';
import type { ExpressionLimits } from '../../expression/limits.ts';
import { parseFilter } from '../../expression/parse-filter.ts';
import { parseSort } from '../../expression/parse-sort.ts';
import { FORMAT_NAMES, type Format } from '../request/format.ts';
import type { SharedParameters } from '../request/results-request.ts';
import { bindFilter } from './bind-filter.ts';
import { bindSearch } from './bind-search.ts';
import { type BoundSortKey, bindSort } from './bind-sort.ts';
import { isCountCheap } from './count-cost.ts';
import { columnIndex } from './find-column.ts';
import type { Predicate } from './predicate.ts';
import type { View, ViewRows } from './view.ts';

/**
 * How values are written: as contract §6 says; integers that a double may not hold as text; or texts so that a spreadsheet runs none
 * of them.
 */
export type Spelling = 'plain' | 'textIntegers' | 'spreadsheet';

export interface ReadPlan {
  readonly format: Format;
  readonly spelling: Spelling;
  /** How many rows the filter keeps in all is to be known. */
  readonly countsExactly: boolean;
  /** The body says how many these are: asked, or since every answer to the request will know it. */
  readonly tellsCount: boolean;
  /** Indexes of the columns of the answer, in its order. */
  readonly projection: readonly number[];
  readonly selection: Selection;
  /** Undefined when the caller lifted the limit. */
  readonly datapointsMax: number | undefined;
  /**
   * At the datapoint limit the page ends and `next_*` continues it, or the request is refused, where an answer has no
   * place to say that it is short.
   */
  readonly atLimit: 'continue' | 'refuse';
}

export type Selection =
  /** Consecutive rows: of the stored order, or of a view of it. */
  | {
      readonly kind: 'slice';
      readonly view: View | undefined;
      readonly offset: number;
      readonly rowCountMax: number;
    }
  /** Rows drawn at random, each subset of that size equally likely, in the order of the sort keys, else as stored. */
  | {
      readonly kind: 'sample';
      readonly rowCount: number;
      /** Undefined: each time another one. */
      readonly seed: number | undefined;
      readonly sortKeys: readonly BoundSortKey[];
    };

export interface PlanLimits {
  readonly datapointsMax: number;
  readonly expressions: ExpressionLimits;
}

/** @throws RequestError unknown_column · datapoint_limit · filter_… · sort_… */
export function planRead(
  parameters: SharedParameters,
  format: Format,
  resultSet: ResultSet,
  limits: PlanLimits,
): ReadPlan {
  const projection = columnsNamed(parameters.columns, resultSet.columns);
  const sortKeys = sortKeysOf(parameters.sortBy, resultSet.columns, limits.expressions);
  const spelling = spellingOf(parameters, format);
  const datapointsMax = parameters.ignoreMaxDatapoints ? undefined : limits.datapointsMax;
  if (parameters.sampleCount !== undefined) {
    const rowCount = Math.min(parameters.sampleCount, resultSet.rowCount);
    const plan = {
      format,
      spelling,
      countsExactly: false,
      tellsCount: false,
      projection,
      selection: { kind: 'sample', rowCount, seed: parameters.sampleSeed, sortKeys },
      datapointsMax,
      atLimit: 'refuse',
    } as const;
    if (rowCount > pageRowsMax(plan)) throw datapointRefusal(plan);
    return plan;
  }
  const rows = rowsMatching(parameters, resultSet.columns, limits.expressions);
  return {
    format,
    spelling,
    countsExactly: parameters.countsExactly,
    tellsCount: parameters.countsExactly || (rows.kind === 'matching' && isCountCheap(rows.predicate, resultSet)),
    projection,
    selection: {
      kind: 'slice',
      view: rows.kind === 'all' && sortKeys.length === 0 ? undefined : { rows, sortKeys },
      offset: parameters.offset,
      rowCountMax: parameters.limit ?? Number.MAX_SAFE_INTEGER,
    },
    datapointsMax,
    atLimit: format !== 'json' && parameters.limit === undefined ? 'refuse' : 'continue',
  };
}

function spellingOf({ bigints, csv }: Pick<SharedParameters, 'bigints' | 'csv'>, format: Format): Spelling {
  if (format === 'csv') return csv === 'spreadsheet' ? 'spreadsheet' : 'plain';
  return format !== 'parquet' && bigints === 'string' ? 'textIntegers' : 'plain';
}

/** The rows that match all that is given. @throws RequestError unknown_column · filter_… */
export function rowsMatching(
  { filters, search }: { readonly filters?: string | undefined; readonly search?: string | undefined },
  columns: readonly Column[],
  limits: ExpressionLimits,
): ViewRows {
  const operands: Predicate[] = [];
  if (filters !== undefined) operands.push(orRefuse(() => bindFilter(parseFilter(filters, limits), columns)));
  if (search !== undefined) operands.push(bindSearch(search, columns));
  const [first] = operands;
  if (first === undefined) return { kind: 'all' };
  return { kind: 'matching', predicate: operands.length === 1 ? first : { kind: 'and', operands } };
}

function sortKeysOf(
  sortBy: string | undefined,
  columns: readonly Column[],
  limits: ExpressionLimits,
): readonly BoundSortKey[] {
  return sortBy === undefined ? [] : orRefuse(() => bindSort(parseSort(sortBy, limits), columns));
}

/** A wrong expression is an error of the caller. */
function orRefuse<T>(bound: () => T): T {
  try {
    return bound();
  } catch (error) {
    throw error instanceof ExpressionError ? new RequestError(error.code, error.message) : error;
  }
}

/** The most rows a page may have by its cells alone. At least one: a page that cannot move on would repeat for ever. */
export function pageRowsMax(plan: ReadPlan): number {
  return plan.datapointsMax === undefined
    ? Number.MAX_SAFE_INTEGER
    : Math.max(1, rowsWithin(plan.datapointsMax, plan.projection.length));
}

/** The error if the datapoint limit would cut an answer that has no place to say that it is short. */
export function datapointRefusal(plan: ReadPlan): RequestError {
  const lift = 'ignore_max_datapoints_per_request=true lifts the limit';
  return plan.selection.kind === 'sample'
    ? new RequestError(
        'datapoint_limit',
        `sample_count: the sample would exceed the limit of ${plan.datapointsMax} datapoints; ask for fewer rows or name fewer columns, or ${lift}`,
      )
    : new RequestError(
        'datapoint_limit',
        `the ${FORMAT_NAMES[plan.format]} would exceed the limit of ${plan.datapointsMax} datapoints; add limit=${pageRowsMax(plan)} and follow the paging headers, name fewer columns, or ${lift}`,
      );
}

/** Indexes of columns by their names, each once; without names, of all. @throws RequestError unknown_column */
export function columnsNamed(names: readonly string[] | undefined, columns: readonly Column[]): readonly number[] {
  if (names === undefined) return columns.map((_, index) => index);
  return [...new Set(names.map((name) => columnIndex(name, columns)))];
}
