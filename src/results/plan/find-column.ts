/**
 * Finds a column by the name that a user wrote: exactly, else without case if only one matches (contract §5). A request may name thousands of
 * columns of thousands. So names are looked up in a map, and the error is worded only where it is thrown.
 */

import { nearest } from '../../domain/nearest.ts';
import type { Column } from '../../domain/result-set.ts';
import { shortened } from '../../domain/shortened.ts';
import { RequestError } from '../../errors/errors.ts';

export type FoundColumn =
  | { readonly kind: 'found'; readonly index: number }
  | { readonly kind: 'unknown' }
  /** Several columns have the name, if case is left out. */
  | { readonly kind: 'ambiguous'; readonly indexes: readonly number[] };

interface Names {
  readonly exact: ReadonlyMap<string, number>;
  /** In lower case. */
  readonly folded: ReadonlyMap<string, readonly number[]>;
}

/** As long as the columns of a result are remembered. */
const NAMES = new WeakMap<readonly Column[], Names>();

export function findColumn(name: string, columns: readonly Column[]): FoundColumn {
  const { exact, folded } = namesOf(columns);
  const index = exact.get(name);
  if (index !== undefined) return { kind: 'found', index };
  const indexes = folded.get(name.toLowerCase()) ?? [];
  const [first] = indexes;
  if (first === undefined) return { kind: 'unknown' };
  return indexes.length === 1 ? { kind: 'found', index: first } : { kind: 'ambiguous', indexes };
}

/** The index of the column that a parameter names. @param where what the error begins with @throws RequestError unknown_column */
export function columnIndex(name: string, columns: readonly Column[], where = 'columns'): number {
  const found = findColumn(name, columns);
  if (found.kind === 'found') return found.index;
  throw new RequestError('unknown_column', `${where}: ${describeMissing(name, found, columns)}`);
}

/** In characters: longer texts are no misspelt names, and may be as long as an address. */
const SHOWN_MAX = 100;

/** What was found in place of a column, with the near names. */
export function describeMissing(
  name: string,
  found: Exclude<FoundColumn, { readonly kind: 'found' }>,
  columns: readonly Column[],
): string {
  const names = columns.map((column) => column.name);
  if (found.kind === 'ambiguous') {
    const meant = found.indexes.map((index) => `"${names[index]}"`).join(' or ');
    return `"${name}" could be ${meant}; write the one you mean exactly`;
  }
  const near = nearest(name, names);
  const hint =
    near.length > 0
      ? `Did you mean ${near.map((candidate) => `"${candidate}"`).join(' or ')}?`
      : `The columns are ${listed(names)}.`;
  return `there is no column "${shortened(name, SHOWN_MAX)}". ${hint}`;
}

function namesOf(columns: readonly Column[]): Names {
  const known = NAMES.get(columns);
  if (known !== undefined) return known;
  const exact = new Map<string, number>();
  const folded = new Map<string, number[]>();
  for (const [index, { name }] of columns.entries()) {
    if (!exact.has(name)) exact.set(name, index);
    const alike = folded.get(name.toLowerCase());
    if (alike === undefined) folded.set(name.toLowerCase(), [index]);
    else alike.push(index);
  }
  const names = { exact, folded };
  NAMES.set(columns, names);
  return names;
}

/** Enough names to recognise the result by; a result may have thousands. */
function listed(names: readonly string[]): string {
  const shown = names.slice(0, 10).map((name) => `"${name}"`);
  return names.length > shown.length ? `${shown.join(', ')} and ${names.length - shown.length} more` : shown.join(', ');
}
