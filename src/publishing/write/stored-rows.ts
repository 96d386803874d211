/**
 * SQL for a whole source in its stored representation. A few columns are read each by an expression of its own, the quickest way.
 * Of many, those that are read alike are gathered in a list and read by one expression for all its members: DuckDB keeps
 * 32 KB for every part of every expression, some megabytes for each column, and its planning grows faster than their number.
 */
import { quoteText } from '../../duckdb/quoting.ts';
import { INVALID_VALUE, type ReadingRule, rawValuesOf, type Source, type SourceColumn } from '../sources/source.ts';

/** Up to here an expression for each column takes two thirds of the time of the lists. */
export const NARROW_COLUMNS_MAX = 32;

type Rows = Pick<Source, 'relation' | 'list' | 'columns'>;

/** @param nameOf the name of the column at a position */
export function storedRows(source: Rows, nameOf: (index: number) => string): string {
  const { columns, relation } = source;
  return columns.length <= NARROW_COLUMNS_MAX ? oneByOne(columns, relation, nameOf) : inGroups(source, nameOf);
}

function oneByOne(columns: readonly SourceColumn[], relation: string, nameOf: (index: number) => string): string {
  const parsed = columns.flatMap((c, i) => (c.parsed === undefined ? [] : [`, ${c.parsed} AS p${i}`]));
  const stored = columns.map((c, i) => `${c.stored} AS ${nameOf(i)}`);
  return `SELECT ${stored.join(', ')} FROM (SELECT *${parsed.join('')} FROM ${relation})`;
}

function inGroups(source: Rows, nameOf: (index: number) => string): string {
  const { columns, relation } = source;
  const groups = Map.groupBy(
    columns.map((_, index) => index),
    (index) => columns[index]?.rule?.key,
  );
  const lists: string[] = [];
  const stored = columns.map(({ stored }) => stored);
  for (const [key, members] of groups) {
    const rule = columns[members[0] ?? 0]?.rule;
    // A text that stays as it is needs no list.
    if (key === undefined || rule === undefined || rule.read('cell', 'NULL', '').stored === 'cell') continue;
    const list = `g${lists.length}`;
    lists.push(`, ${readTogether(rule, members, source)} AS ${list}`);
    for (const [place, index] of members.entries()) stored[index] = `${list}[${place + 1}]`;
  }
  const selected = stored.map((sql, index) => `${sql} AS ${nameOf(index)}`);
  return `SELECT ${selected.join(', ')} FROM (SELECT *${lists.join('')} FROM ${relation})`;
}

function readTogether(rule: ReadingRule, members: readonly number[], source: Rows): string {
  const list = rawValuesOf(source, members);
  // The place in the list says which column a value stands in.
  const failOf = (raw: string) =>
    `error(${quoteText(INVALID_VALUE)} || ([${members.join(', ')}])[place] || ': ' || CAST(${raw} AS VARCHAR))`;
  const { parsed } = rule.read('cell', 'NULL', failOf('cell'));
  if (parsed === undefined) {
    return `list_transform(${list}, lambda cell, place: ${rule.read('cell', 'NULL', failOf('cell')).stored})`;
  }
  const { stored } = rule.read('pair.cell', 'pair.parsed', failOf('pair.cell'));
  const pairs = `list_transform(${list}, lambda cell, place: {'cell': cell, 'parsed': ${parsed}})`;
  return `list_transform(${pairs}, lambda pair, place: ${stored})`;
}
