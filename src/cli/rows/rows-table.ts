/** Rows as a table on a terminal, and a line below it that says how many of how many they are. */
import { counted } from '../../domain/counted.ts';
import { formatTable, type TableColumn } from '../table.ts';
import { type AnswerDocument, Digits } from './answer-document.ts';

const NUMBERS = /^(tinyint|smallint|integer|bigint|hugeint|uint256|int256|real|double|decimal)\b/;

/** What is still a text of its kind when it ends in a mark. */
const CUTTABLE = /^(varchar|varbinary|json|array|map|row)\b/;

/** @param width of the terminal, in characters; undefined: as wide as it gets */
export function rowsTable({ columns, rows }: AnswerDocument, width: number | undefined): string {
  const header: readonly TableColumn[] = columns.map(({ name, type }) => ({
    name,
    align: NUMBERS.test(type) ? 'right' : 'left',
    mayBeCut: CUTTABLE.test(type),
  }));
  return formatTable(
    header,
    rows.map((row) => row.map(cellText)),
    width,
  );
}

/** `null` for null: an empty cell is an empty text. */
function cellText(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (value instanceof Digits) return value.text;
  return typeof value === 'object' ? nestedText(value) : String(value);
}

function nestedText(value: object): string {
  if (value instanceof Digits) return value.text;
  const text = (item: unknown) =>
    typeof item === 'object' && item !== null ? nestedText(item) : JSON.stringify(item ?? null);
  if (Array.isArray(value)) return `[${value.map(text).join(', ')}]`;
  return `{${Object.entries(value)
    .map(([key, item]) => `${JSON.stringify(key)}: ${text(item)}`)
    .join(', ')}}`;
}

/** `20 of 5,000 rows that match, of 1,000,000 in all; more: --offset 20` */
export function rowsLine(answer: AnswerDocument, offset: number, isFiltered: boolean): string {
  const { rows, totalRowCount, filteredRowCount, nextOffset, executionId, endedAt } = answer;
  const whole = counted(totalRowCount, 'row');
  const ofAll = isFiltered ? `of those that match, in ${whole}` : `of ${whole}`;
  const ofThem =
    isFiltered && filteredRowCount !== undefined
      ? `of ${filteredRowCount.toLocaleString('en-US')} that match, in ${whole}`
      : ofAll;
  const shown = rows.length === 0 ? 'no rows' : `${offset + 1} to ${offset + rows.length}`;
  const more = nextOffset === undefined ? '' : `; more: --offset ${nextOffset}`;
  const when = endedAt === undefined ? '' : ` of ${endedAt.slice(0, 19).replace('T', ' ')}`;
  return `${shown} ${ofThem}${more} (run ${executionId}${when})`;
}
