/** Writes the texts of `filters` and `sort_by` that clicks make: conditions on a value, and the next order of a column. */
import { Digits, type ExactJson } from '../api/exact-json.ts';
import { isNumberType } from '../table/cell-text.ts';

export type Comparison = '=' | '<>' | '>=' | '<=';

const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const KEYWORDS = /^(and|or|not|in|like|ilike|escape|between|is|null|true|false|contains|asc|desc|nulls|first|last)$/i;

/** A column's name as expressions write it, quoted if need be. */
export function quoteName(name: string): string {
  return PLAIN_NAME.test(name) && !KEYWORDS.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A condition that holds for the value (with `<>`: for all others, and where there is none); undefined for values that cannot be compared. */
export function conditionOn(name: string, type: string, comparison: Comparison, value: ExactJson): string | undefined {
  const column = quoteName(name);
  if (value === null || typeof value === 'boolean') {
    if (comparison === '<>') return `${column} is not ${value}`;
    return comparison === '=' ? `${column} ${value === null ? 'is' : '='} ${value}` : undefined;
  }
  const literal = literalOf(type, value);
  if (literal === undefined) return undefined;
  const condition = `${column} ${comparison} ${literal}`;
  return comparison === '<>' ? `${condition} or ${column} is null` : condition;
}

function literalOf(type: string, value: ExactJson): string | undefined {
  if (value instanceof Digits) return value.text;
  if (typeof value !== 'string' || type === 'json') return undefined;
  const isDigits = isNumberType(type) && /^-?[0-9]+(\.[0-9]+)?$/.test(value);
  return isDigits ? value : quoteText(value);
}

/** The condition that both hold. */
export function andAlso(filters: string, condition: string): string {
  const given = filters.trim();
  return given === '' ? condition : `${operand(given)} and ${operand(condition)}`;
}

/** In parentheses where it has an `or` outside of them. */
function operand(condition: string): string {
  let open = condition.replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"/g, '');
  for (let inner = ''; inner !== open; ) {
    inner = open;
    open = inner.replace(/\([^()]*\)/g, ' ');
  }
  return /\bor\b/i.test(open) ? `(${condition})` : condition;
}

/** The order to show at a column's header; undefined if `sort_by` does not name the column. @param names of all columns */
export function orderOf(sortBy: string, name: string, names: readonly string[]): 'asc' | 'desc' | undefined {
  const key = sortKeys(sortBy, names).find((one) => one.name === name);
  if (key === undefined) return undefined;
  return /\bdesc\b/i.test(key.rest) ? 'desc' : 'asc';
}

/** The next of: ascending, descending, as stored. @param keepsOthers keeps the other columns of the order */
export function nextOrder(sortBy: string, name: string, keepsOthers: boolean, names: readonly string[]): string {
  const order = orderOf(sortBy, name, names);
  const column = quoteName(name);
  const others = sortKeys(sortBy, names).filter((key) => key.name !== name);
  const kept = keepsOthers ? others.map(({ column: other, rest }) => other + rest) : [];
  const own = order === undefined ? [column] : order === 'asc' ? [`${column} desc`] : [];
  return [...kept, ...own].join(', ');
}

interface SortKey {
  /** Of the column that is meant. */
  readonly name: string;
  /** The name as it is written, perhaps quoted. */
  readonly column: string;
  readonly rest: string;
}

/** The sort keys of an order: a column, and what follows its name. */
function sortKeys(sortBy: string, names: readonly string[]): readonly SortKey[] {
  const keys = sortBy.match(/(?:"(?:[^"]|"")*"|[^,"])+/g) ?? [];
  return keys.map((key) => {
    const [, column = '', rest = ''] = /^\s*("(?:[^"]|"")*"|\S+)(.*?)\s*$/s.exec(key) ?? [];
    const name = column.startsWith('"') ? column.slice(1, -1).replaceAll('""', '"') : column;
    return { name: meantBy(name, names), column, rest };
  });
}

/** As the service reads a name: exactly it, or else the only one that differs in case alone. */
function meantBy(name: string, names: readonly string[]): string {
  if (names.includes(name)) return name;
  const [alike, ...others] = names.filter((one) => one.toLowerCase() === name.toLowerCase());
  return alike !== undefined && others.length === 0 ? alike : name;
}
