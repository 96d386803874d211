/** Moves the focused cell of a grid by keys: arrows, Page Up and Down, Home, End. */

type Place = readonly [row: number, column: number];

interface Extent {
  readonly rows: number;
  readonly columns: number;
  /** Visible rows. */
  readonly screen: number;
}

export interface KeyPress {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
}

/** Undefined for other keys. Row −1 is the header. */
export function movedBy(
  { key, ctrlKey, metaKey, altKey }: KeyPress,
  [row, column]: Place,
  { rows, columns, screen }: Extent,
): Place | undefined {
  if (altKey) return undefined;
  const far = ctrlKey || metaKey;
  const clamp = (to: number, from: number, last: number) => Math.min(last, Math.max(from, to));
  const toRow = (to: number, at = column): Place => [clamp(to, -1, rows - 1), at];
  const toColumn = (to: number): Place => [row, clamp(to, 0, columns - 1)];
  switch (key) {
    case 'ArrowDown':
      return toRow(far ? rows - 1 : row + 1);
    case 'ArrowUp':
      return toRow(far ? 0 : row - 1);
    case 'PageDown':
      return toRow(row + screen);
    case 'PageUp':
      return toRow(Math.max(0, row - screen));
    case 'ArrowRight':
      return toColumn(far ? columns - 1 : column + 1);
    case 'ArrowLeft':
      return toColumn(far ? 0 : column - 1);
    case 'Home':
      return far ? toRow(0, 0) : toColumn(0);
    case 'End':
      return far ? toRow(rows - 1, columns - 1) : toColumn(columns - 1);
    default:
      return undefined;
  }
}
