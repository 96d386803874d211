/** Rows for people to read, in columns of equal width. Numbers stand at the right, with their thousands apart. */
export type Cell = string | number | undefined;

const GAP = '  ';

export function formatTable(names: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const texts = [names, ...rows.map((row) => row.map(cellText))];
  const widths = names.map((_, column) => Math.max(...texts.map((row) => row[column]?.length ?? 0)));
  const isNumber = names.map((_, column) => rows.length > 0 && rows.every((row) => typeof row[column] === 'number'));
  const line = (row: readonly string[]) =>
    row
      .map((text, column) => (isNumber[column] ? text.padStart(widths[column] ?? 0) : text.padEnd(widths[column] ?? 0)))
      .join(GAP)
      .trimEnd();
  return `${texts.map(line).join('\n')}\n`;
}

function cellText(cell: Cell): string {
  if (cell === undefined) return '';
  return typeof cell === 'number' ? String(cell).replace(/\B(?=(\d{3})+$)/g, ',') : cell;
}
