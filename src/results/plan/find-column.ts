/** Finding a column by the name a user wrote: exactly, else without case when only one matches (contract §5). */

import { nearest } from '../../domain/nearest.ts';
import type { Column } from '../../domain/result-set.ts';

export type FoundColumn =
  | { readonly kind: 'found'; readonly index: number }
  /** `message` says what was found and names the near matches. */
  | { readonly kind: 'unknown' | 'ambiguous'; readonly message: string };

export function findColumn(name: string, columns: readonly Column[]): FoundColumn {
  const exact = columns.findIndex((column) => column.name === name);
  if (exact >= 0) return { kind: 'found', index: exact };
  const folded = name.toLowerCase();
  const matches = columns.flatMap((column, index) => (column.name.toLowerCase() === folded ? [index] : []));
  const [first] = matches;
  if (first !== undefined && matches.length === 1) return { kind: 'found', index: first };
  const names = columns.map((column) => column.name);
  if (matches.length > 1) {
    const meant = matches.map((index) => `"${names[index]}"`).join(' or ');
    return { kind: 'ambiguous', message: `"${name}" could be ${meant}; write the one you mean exactly` };
  }
  const near = nearest(name, names);
  const hint =
    near.length > 0
      ? `Did you mean ${near.map((candidate) => `"${candidate}"`).join(' or ')}?`
      : `The columns are ${listed(names)}.`;
  return { kind: 'unknown', message: `there is no column "${name}". ${hint}` };
}

/** Enough names to recognise the result by; a result may have thousands. */
function listed(names: readonly string[]): string {
  const shown = names.slice(0, 10).map((name) => `"${name}"`);
  return names.length > shown.length ? `${shown.join(', ')} and ${names.length - shown.length} more` : shown.join(', ');
}
