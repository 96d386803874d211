/**
 * What a list command prints: a table on a terminal, one value a line in a pipe, JSON when asked. The columns of the table are
 * the names of the JSON, so that a person who reads one can script the other.
 */
import { formatInstant, type Instant } from '../domain/instant.ts';
import type { CommandContext } from './command-context.ts';
import { printJson, printLines, tell } from './printing.ts';
import { type Cell, formatTable } from './table.ts';

export interface ListStyle<T> {
  /** What a script wants of each: its id or its name. */
  readonly value: (item: T) => string | number;
  readonly record: (item: T) => object;
  /** Name of a column → its cell. */
  readonly columns: Readonly<Record<string, (item: T) => Cell>>;
  /** Columns of words for people, which may be cut where the terminal is narrow. */
  readonly mayBeCut?: readonly string[];
  /** What to do when there are none yet; for people. */
  readonly none: string;
}

export function printList<T>(
  context: CommandContext,
  items: readonly T[],
  options: { readonly json?: true },
  { value, record, columns, mayBeCut = [], none }: ListStyle<T>,
): void {
  if (options.json) printJson(context, items.map(record));
  else if (!context.stdout.isTerminal) printLines(context, items.map(value));
  else if (items.length === 0) tell(context, none);
  else {
    const cells = items.map((item) => Object.values(columns).map((cell) => cell(item)));
    const named = Object.keys(columns).map((name) => ({ name, mayBeCut: mayBeCut.includes(name) }));
    context.stdout.write(formatTable(named, cells, context.stdout.columns));
  }
}

/** An id: a number that is not counted with, so without marks between its thousands. */
export function idCell(id: number): string {
  return String(id);
}

/** To the second, in UTC: `2024-03-05 20:50:59`. */
export function timeCell(at: Instant | undefined): string | undefined {
  return at === undefined ? undefined : formatInstant(at).slice(0, 19).replace('T', ' ');
}
