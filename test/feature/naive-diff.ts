/**
 * What the difference of two results is, written down a second time as plainly as possible: rows are texts, and nothing is hashed, sorted or
 * paired but by loops. Tests compare the service with this.
 */

/** The values of a row, as texts that are equal where the values are. */
export type TextRow = readonly string[];

export interface DiffRow {
  readonly change: 'added' | 'removed' | 'changed_from' | 'changed_to';
  readonly row: TextRow;
}

/**
 * @param key places of the columns of the key; none: rows are compared as a whole
 * @param compareKeys orders two rows by their keys
 */
export function naiveDiff(
  from: readonly TextRow[],
  to: readonly TextRow[],
  key: readonly number[],
  compareKeys: (a: TextRow, b: TextRow) => number,
): readonly DiffRow[] {
  const gone = without(from, to);
  const come = without(to, from);
  if (key.length === 0) {
    return [
      ...come.map((row) => ({ change: 'added', row }) as const),
      ...gone.map((row) => ({ change: 'removed', row }) as const),
    ];
  }
  const keyOf = (row: TextRow) => JSON.stringify(key.map((place) => row[place]));
  const keys = new Map([...gone, ...come].map((row) => [keyOf(row), row]));
  const inOrder = [...keys].sort(([, a], [, b]) => compareKeys(a, b));
  return inOrder.flatMap(([name]) => {
    const before = gone.filter((row) => keyOf(row) === name);
    const after = come.filter((row) => keyOf(row) === name);
    return Array.from({ length: Math.max(before.length, after.length) }, (_, place): readonly DiffRow[] => {
      const [old, now] = [before[place], after[place]];
      if (old !== undefined && now !== undefined) {
        return [
          { change: 'changed_from', row: old },
          { change: 'changed_to', row: now },
        ];
      }
      if (now !== undefined) return [{ change: 'added', row: now }];
      return old === undefined ? [] : [{ change: 'removed', row: old }];
    }).flat();
  });
}

/** The rows, in order, without the first so many of each that are among the others. */
function without(rows: readonly TextRow[], others: readonly TextRow[]): readonly TextRow[] {
  const counts = new Map<string, number>();
  for (const row of others) counts.set(JSON.stringify(row), (counts.get(JSON.stringify(row)) ?? 0) + 1);
  return rows.filter((row) => {
    const left = counts.get(JSON.stringify(row)) ?? 0;
    counts.set(JSON.stringify(row), left - 1);
    return left <= 0;
  });
}
