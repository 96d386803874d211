/**
 * What filters and sorts mean, written down a second time as plainly as possible: no SQL, no parser, no types of the service.
 * Rows are arrays of plain cells, numbers are fractions of whole numbers, text is a list of code points, and a condition is
 * true, false or unknown (null). Tests compare the service with this.
 */

export type Cell =
  | null
  | { readonly kind: 'boolean'; readonly value: boolean }
  /** numerator / 10^scale */
  | { readonly kind: 'exact'; readonly units: bigint; readonly scale: number }
  | { readonly kind: 'float'; readonly value: number }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'bytes'; readonly hex: string }
  | { readonly kind: 'uuid'; readonly text: string }
  | { readonly kind: 'instant'; readonly nanos: bigint }
  | { readonly kind: 'time'; readonly micros: bigint }
  | { readonly kind: 'zoned'; readonly micros: bigint; readonly offsetMinutes: number }
  | { readonly kind: 'interval'; readonly months: bigint; readonly days: bigint; readonly micros: bigint }
  | { readonly kind: 'list'; readonly elements: readonly Cell[] };

export type Row = readonly Cell[];
export type Truth = boolean | null;

export type Operand = { readonly column: number } | { readonly cell: Cell };

export type Condition =
  | { readonly kind: 'and' | 'or'; readonly operands: readonly Condition[] }
  | { readonly kind: 'not'; readonly operand: Condition }
  | { readonly kind: 'flag'; readonly column: number }
  | { readonly kind: 'compare'; readonly operator: string; readonly left: Operand; readonly right: Operand }
  | { readonly kind: 'in'; readonly operand: Operand; readonly members: readonly Operand[] }
  | { readonly kind: 'between'; readonly operand: Operand; readonly low: Operand; readonly high: Operand }
  | {
      readonly kind: 'like';
      readonly column: number;
      readonly pattern: string;
      readonly escape: string | undefined;
      readonly caseInsensitive: boolean;
    }
  | { readonly kind: 'is-null'; readonly column: number }
  | { readonly kind: 'is-truth'; readonly column: number; readonly truth: boolean }
  | { readonly kind: 'contains'; readonly column: number; readonly cell: Cell };

export interface SortBy {
  readonly column: number;
  readonly descending: boolean;
  readonly nullsFirst: boolean;
}

/** Positions of the rows for which the condition is true, in the order asked for. */
export function select(rows: readonly Row[], condition: Condition, sortBy: readonly SortBy[]): readonly number[] {
  const kept = rows.flatMap((row, position) => (truthOf(condition, row) === true ? [position] : []));
  return kept.sort((a, b) => {
    for (const key of sortBy) {
      const order = orderBy(key, rows[a]?.[key.column] ?? null, rows[b]?.[key.column] ?? null);
      if (order !== 0) return order;
    }
    return a - b;
  });
}

function orderBy(key: SortBy, a: Cell, b: Cell): number {
  if (a === null || b === null) return a === b ? 0 : (a === null) === key.nullsFirst ? -1 : 1;
  const order = compareCells(a, b);
  return key.descending ? -order : order;
}

export function truthOf(condition: Condition, row: Row): Truth {
  switch (condition.kind) {
    case 'and':
      return condition.operands.map((operand) => truthOf(operand, row)).reduce(and, true);
    case 'or':
      return condition.operands.map((operand) => truthOf(operand, row)).reduce(or, false);
    case 'not':
      return not(truthOf(condition.operand, row));
    case 'flag': {
      const cell = row[condition.column] ?? null;
      return cell?.kind === 'boolean' ? cell.value : null;
    }
    case 'compare':
      return compare(condition.operator, cellOf(condition.left, row), cellOf(condition.right, row));
    case 'in': {
      const cell = cellOf(condition.operand, row);
      return condition.members.map((member) => compare('=', cell, cellOf(member, row))).reduce(or, false);
    }
    case 'between': {
      const cell = cellOf(condition.operand, row);
      return and(compare('>=', cell, cellOf(condition.low, row)), compare('<=', cell, cellOf(condition.high, row)));
    }
    case 'like': {
      const cell = row[condition.column] ?? null;
      if (cell?.kind !== 'text') return null;
      const fold = (text: string) => (condition.caseInsensitive ? text.toLowerCase() : text);
      return isLike([...fold(cell.text)], wildcardsOf(fold(condition.pattern), condition.escape));
    }
    case 'is-null':
      return (row[condition.column] ?? null) === null;
    case 'is-truth': {
      const cell = row[condition.column] ?? null;
      return cell?.kind === 'boolean' && cell.value === condition.truth;
    }
    case 'contains': {
      const cell = row[condition.column] ?? null;
      if (cell?.kind !== 'list' || condition.cell === null) return null;
      const wanted = condition.cell;
      return cell.elements.some((element) => element !== null && compareCells(element, wanted) === 0);
    }
    default:
      return condition satisfies never;
  }
}

function cellOf(operand: Operand, row: Row): Cell {
  return 'cell' in operand ? operand.cell : (row[operand.column] ?? null);
}

function compare(operator: string, a: Cell, b: Cell): Truth {
  if (a === null || b === null) return null;
  const order = compareCells(a, b);
  switch (operator) {
    case '=':
      return order === 0;
    case '!=':
    case '<>':
      return order !== 0;
    case '<':
      return order < 0;
    case '<=':
      return order <= 0;
    case '>':
      return order > 0;
    case '>=':
      return order >= 0;
    default:
      throw new Error(`no such operator: ${operator}`);
  }
}

function and(a: Truth, b: Truth): Truth {
  return a === false || b === false ? false : a === null || b === null ? null : true;
}

function or(a: Truth, b: Truth): Truth {
  return not(and(not(a), not(b)));
}

function not(a: Truth): Truth {
  return a === null ? null : !a;
}

/** −1, 0 or 1. */
export function compareCells(a: NonNullable<Cell>, b: NonNullable<Cell>): number {
  if (a.kind === 'boolean' && b.kind === 'boolean') return Number(a.value) - Number(b.value);
  if (a.kind === 'exact' && b.kind === 'exact') {
    return sign(a.units * 10n ** BigInt(b.scale) - b.units * 10n ** BigInt(a.scale));
  }
  if (a.kind === 'float' && b.kind === 'float') return compareFloats(a.value, b.value);
  if (a.kind === 'float' && b.kind === 'exact') return compareFloatAndExact(a.value, b);
  if (a.kind === 'exact' && b.kind === 'float') return -compareFloatAndExact(b.value, a);
  if (a.kind === 'text' && b.kind === 'text') return compareText(a.text, b.text);
  if (a.kind === 'uuid' && b.kind === 'uuid') return compareText(a.text, b.text);
  if (a.kind === 'bytes' && b.kind === 'bytes') return compareText(a.hex, b.hex);
  if (a.kind === 'instant' && b.kind === 'instant') return sign(a.nanos - b.nanos);
  if (a.kind === 'time' && b.kind === 'time') return sign(a.micros - b.micros);
  if (a.kind === 'zoned' && b.kind === 'zoned') {
    const minute = 60_000_000n;
    const inUtc = a.micros - BigInt(a.offsetMinutes) * minute - (b.micros - BigInt(b.offsetMinutes) * minute);
    // The same moment: the clock that is further east comes first.
    return inUtc === 0n ? Math.sign(b.offsetMinutes - a.offsetMinutes) : sign(inUtc);
  }
  if (a.kind === 'interval' && b.kind === 'interval') return sign(lengthOf(a) - lengthOf(b));
  throw new Error(`a ${a.kind} is not compared with a ${b.kind}`);
}

/** NaN equals NaN and is greater than every number. */
function compareFloats(a: number, b: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  return a < b ? -1 : a > b ? 1 : 0;
}

/** As doubles; but every number that can be written down is less than infinity. */
function compareFloatAndExact(float: number, exact: { readonly units: bigint; readonly scale: number }): number {
  if (float === Number.POSITIVE_INFINITY) return 1;
  if (float === Number.NEGATIVE_INFINITY) return -1;
  return compareFloats(float, Number(`${exact.units}e-${exact.scale}`));
}

function compareText(a: string, b: string): number {
  const [left, right] = [[...a], [...b]];
  for (let i = 0; i < Math.min(left.length, right.length); i += 1) {
    const difference = (left[i]?.codePointAt(0) ?? 0) - (right[i]?.codePointAt(0) ?? 0);
    if (difference !== 0) return Math.sign(difference);
  }
  return Math.sign(left.length - right.length);
}

/** A month is 30 days, a day 24 hours. */
function lengthOf(interval: { readonly months: bigint; readonly days: bigint; readonly micros: bigint }): bigint {
  return (interval.months * 30n + interval.days) * 86_400_000_000n + interval.micros;
}

function sign(value: bigint): number {
  return value < 0n ? -1 : value > 0n ? 1 : 0;
}

type Wildcard = { readonly is: string } | 'one' | 'any';

function wildcardsOf(pattern: string, escapeText: string | undefined): readonly Wildcard[] {
  const wildcards: Wildcard[] = [];
  const characters = [...pattern];
  for (let i = 0; i < characters.length; i += 1) {
    const character = characters[i] ?? '';
    if (character === escapeText) {
      i += 1;
      wildcards.push({ is: characters[i] ?? '' });
    } else wildcards.push(character === '%' ? 'any' : character === '_' ? 'one' : { is: character });
  }
  return wildcards;
}

/** By a table of all prefixes: reached[j] tells whether the pattern so far matches the first j characters. */
function isLike(text: readonly string[], pattern: readonly Wildcard[]): boolean {
  let reached = text.map(() => false);
  reached = [true, ...reached];
  for (const wildcard of pattern) {
    const next = reached.map(() => false);
    for (let j = 0; j <= text.length; j += 1) {
      if (wildcard === 'any') next[j] = (reached[j] ?? false) || (j > 0 && (next[j - 1] ?? false));
      else if (j > 0) next[j] = (reached[j - 1] ?? false) && (wildcard === 'one' || wildcard.is === text[j - 1]);
    }
    reached = next;
  }
  return reached[text.length] ?? false;
}
