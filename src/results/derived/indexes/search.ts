/**
 * A predicate as a search of indexes: the keys that a row must have, by column, for the predicate to be true. Unknown counts as
 * false here, so a negation can be pushed down to the columns. What indexes cannot tell, such as `contains`, is `anything`;
 * inside an `and` it leaves rows that have to be checked.
 */
import type { ColumnType } from '../../../domain/column-type.ts';
import type { LikePattern } from '../../plan/literals/pattern.ts';
import type { ColumnRef, Predicate, Value } from '../../plan/predicate.ts';
import { type Key, keyFormOf, keyOf, prefixKeys } from './ordered-key.ts';

export type Search =
  | { readonly kind: 'anything' | 'nothing' }
  | ColumnSearch
  | { readonly kind: 'and' | 'or'; readonly operands: readonly Search[] };

export interface ColumnSearch {
  readonly kind: 'column';
  readonly column: ColumnRef;
  /** A row matches if its key is in one of these ranges. */
  readonly ranges: readonly KeyRange[];
  /** Inverts `ranges`: the row's key is in none of them. */
  readonly isOutside: boolean;
  /** Rows without a value match, too. */
  readonly nulls: boolean;
  /** Every row found matches. If false, the rows have to be checked. */
  readonly isExact: boolean;
}

export interface KeyRange {
  readonly from: Bound | undefined;
  readonly to: Bound | undefined;
}

export interface Bound {
  readonly key: Uint8Array;
  readonly isIncluded: boolean;
}

/** An `in` with more values is not looked up: each look-up takes as long as a small scan. */
const IN_VALUES_MAX = 256;
const ANYTHING: Search = { kind: 'anything' };
const NOTHING: Search = { kind: 'nothing' };
const EVERYTHING: KeyRange = { from: undefined, to: undefined };

/** @param isNegated searches for the rows for which the predicate is false, instead of true */
export function searchOf(predicate: Predicate, isNegated = false): Search {
  switch (predicate.kind) {
    case 'and':
    case 'or':
      return joined((predicate.kind === 'and') === isNegated ? 'or' : 'and', predicate.operands, isNegated);
    case 'not':
      return searchOf(predicate.operand, !isNegated);
    case 'flag':
      return valuesOf(predicate.column, [true], isNegated);
    case 'unknown':
      return NOTHING;
    case 'known':
      return predicate.truth === isNegated ? NOTHING : among(predicate.column, [EVERYTHING], false, true);
    case 'comparison':
      return comparisonOf(predicate, isNegated);
    case 'in':
      return predicate.values.length > IN_VALUES_MAX
        ? ANYTHING
        : valuesOf(predicate.column, predicate.values, isNegated);
    case 'like':
      return predicate.caseInsensitive ? ANYTHING : likeOf(predicate.column, predicate.pattern, isNegated);
    case 'is-null':
      return isNegated
        ? among(predicate.column, [EVERYTHING], false, true)
        : withNulls(among(predicate.column, [], false, true));
    case 'is-truth': {
      const values = valuesOf(predicate.column, [predicate.truth], isNegated);
      return isNegated ? withNulls(values) : values;
    }
    case 'columns':
    case 'contains':
    case 'search':
      return ANYTHING;
    default:
      return predicate satisfies never;
  }
}

/** The columns whose indexes the search can use. */
export function columnsOf(search: Search): readonly ColumnRef[] {
  switch (search.kind) {
    case 'anything':
    case 'nothing':
      return [];
    case 'column':
      return [search.column];
    default: {
      const columns = search.operands.flatMap(columnsOf);
      return columns.filter(({ index }, at) => columns.findIndex((other) => other.index === index) === at);
    }
  }
}

export function isIndexable(type: ColumnType): boolean {
  return keyFormOf(type) !== undefined;
}

function joined(kind: 'and' | 'or', operands: readonly Predicate[], isNegated: boolean): Search {
  const searches = operands.map((operand) => searchOf(operand, isNegated));
  // `nothing` decides an `and`, and `anything` decides an `or`.
  const [strongest, weakest] = kind === 'and' ? (['nothing', 'anything'] as const) : (['anything', 'nothing'] as const);
  if (searches.some((search) => search.kind === strongest)) return { kind: strongest };
  if (searches.every((search) => search.kind === weakest)) return { kind: weakest };
  // `nothing` adds no rows to an `or`. `anything` in an `and` stays: it says that rows have to be checked.
  return { kind, operands: searches.filter((search) => search.kind !== 'nothing') };
}

type Comparison = Predicate & { readonly kind: 'comparison' };

function comparisonOf({ column, operator, value }: Comparison, isNegated: boolean): Search {
  if (operator === '=' || operator === '!=') return valuesOf(column, [value], isNegated !== (operator === '!='));
  const key = keyOfValue(column, value);
  if (key === undefined) return ANYTHING;
  return among(column, [rangeOf(operator, key)], isNegated, !key.isCut);
}

function rangeOf(operator: Exclude<Comparison['operator'], '=' | '!='>, { bytes, isCut }: Key): KeyRange {
  const bound = { key: bytes, isIncluded: isCut || operator === '<=' || operator === '>=' };
  return operator === '<' || operator === '<=' ? { from: undefined, to: bound } : { from: bound, to: undefined };
}

function valuesOf(column: ColumnRef, values: readonly Value[], isOutside: boolean): Search {
  const keys = values.map((value) => keyOfValue(column, value));
  const ranges = keys.flatMap((key) => {
    if (key === undefined) return [];
    const bound = { key: key.bytes, isIncluded: true };
    return [{ from: bound, to: bound }];
  });
  if (ranges.length < values.length) return ANYTHING;
  return among(column, ranges, isOutside, !keys.some((key) => key?.isCut));
}

/** Matching values begin with the text before the first wildcard. */
function likeOf(column: ColumnRef, pattern: LikePattern, isNegated: boolean): Search {
  const [first, second] = pattern;
  if (first === undefined) return valuesOf(column, [''], isNegated);
  if (first.kind !== 'text') {
    const isAny = first.kind === 'any' && second === undefined;
    return isAny ? among(column, [EVERYTHING], isNegated, true) : ANYTHING;
  }
  if (second === undefined) return valuesOf(column, [first.text], isNegated);
  const { from, to } = prefixKeys(first.text);
  const range = {
    from: { key: from.bytes, isIncluded: true },
    to: to === undefined ? undefined : { key: to, isIncluded: false },
  };
  const isExact = !from.isCut && second.kind === 'any' && pattern.length === 2;
  return among(column, [range], isNegated, isExact);
}

function among(column: ColumnRef, ranges: readonly KeyRange[], isOutside: boolean, isExact: boolean): Search {
  if (!isIndexable(column.type) || (isOutside && !isExact)) return ANYTHING;
  return { kind: 'column', column, ranges, isOutside, nulls: false, isExact };
}

function withNulls(search: Search): Search {
  return search.kind === 'column' ? { ...search, nulls: true } : search;
}

function keyOfValue({ type }: ColumnRef, value: Value): Key | undefined {
  const form = keyFormOf(type);
  return form === undefined ? undefined : keyOf(value, form);
}
