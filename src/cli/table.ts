/**
 * Rows for people to read, in columns of equal width. Numbers stand at the right, with their thousands apart. On a terminal that is too
 * narrow, columns that may be cut are, with a mark; where that is not enough, each row is a block of its own: nothing is left out.
 */
import { cutTo, shownText, textWidth } from './text-width.ts';

export type Cell = string | number | undefined;

export interface TableColumn {
  readonly name: string;
  readonly align?: 'left' | 'right';
  /** Of texts: a number, a time or an id that is cut says something else. */
  readonly mayBeCut?: boolean;
}

const GAP = '  ';
/** A column is cut to no less, nor to less than its name. */
const CUT_MIN = 12;

/** @param width of the terminal; undefined: as wide as it gets */
export function formatTable(
  named: readonly (string | TableColumn)[],
  rows: readonly (readonly Cell[])[],
  width = Number.POSITIVE_INFINITY,
): string {
  const columns = named.map((one): TableColumn => (typeof one === 'string' ? { name: one } : one));
  const header = columns.map(({ name }) => shownText(name));
  const texts = rows.map((row) => row.map(cellText));
  const widths = fittingWidths(columns, [header, ...texts], width);
  if (widths === undefined) return blocks(columns, header, texts, width);
  const isRight = columns.map(({ align }, i) => align === 'right' || (align === undefined && isNumbers(rows, i)));
  const line = (row: readonly string[]) =>
    row
      .map((text, i) => padded(cutTo(text, widths[i] ?? 0), widths[i] ?? 0, isRight[i] === true))
      .join(GAP)
      .trimEnd();
  return `${[header, ...texts].map(line).join('\n')}\n`;
}

/** Of each column; undefined where they do not fit. */
function fittingWidths(
  columns: readonly TableColumn[],
  texts: readonly (readonly string[])[],
  width: number,
): readonly number[] | undefined {
  const natural = columns.map((_, i) => texts.reduce((most, row) => Math.max(most, textWidth(row[i] ?? '')), 0));
  const gaps = GAP.length * (columns.length - 1);
  const names = texts[0] ?? [];
  const least = columns.map(({ mayBeCut }, i) => (mayBeCut ? textWidth(names[i] ?? '') : natural[i]) ?? 0);
  const cutAt = (most: number) => natural.map((one, i) => Math.min(one, Math.max(most, least[i] ?? 0)));
  const fits = (widths: readonly number[]) => widths.reduce((sum, one) => sum + one, gaps) <= width;
  if (fits(natural)) return natural;
  if (!fits(cutAt(CUT_MIN))) return undefined;
  let [most, tooMuch] = [CUT_MIN, Math.max(...natural)];
  while (tooMuch - most > 1) {
    const middle = Math.floor((most + tooMuch) / 2);
    if (fits(cutAt(middle))) most = middle;
    else tooMuch = middle;
  }
  return cutAt(most);
}

/** A line for each cell, and a number above each row. */
function blocks(
  columns: readonly TableColumn[],
  header: readonly string[],
  rows: readonly (readonly string[])[],
  width: number,
): string {
  const names = Math.max(...header.map(textWidth));
  const left = Math.max(width - names - GAP.length, CUT_MIN);
  return rows
    .map((row, number) => {
      const lines = row.map((text, i) =>
        `${padded(header[i] ?? '', names, false)}${GAP}${columns[i]?.mayBeCut ? cutTo(text, left) : text}`.trimEnd(),
      );
      return [`-- ${number + 1} --`, ...lines, ''].join('\n');
    })
    .join('');
}

function isNumbers(rows: readonly (readonly Cell[])[], column: number): boolean {
  return rows.length > 0 && rows.every((row) => typeof row[column] === 'number');
}

function padded(text: string, width: number, right: boolean): string {
  const blanks = ' '.repeat(Math.max(width - textWidth(text), 0));
  return right ? blanks + text : text + blanks;
}

function cellText(cell: Cell): string {
  if (cell === undefined) return '';
  return typeof cell === 'number' ? String(cell).replace(/\B(?=(\d{3})+$)/g, ',') : shownText(cell);
}
