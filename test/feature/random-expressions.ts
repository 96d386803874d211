/** Random filters and sorts over a result: what a client would type, and the same in plain terms. */
import type { ColumnType } from '../../src/domain/column-type.ts';
import type { Cell, Condition, Operand, SortBy } from './naive-interpreter.ts';
import { clockText, decimalText, type Random, type RandomResult, randomCell, zoneText } from './random-results.ts';

export interface Typed<Meaning> {
  readonly text: string;
  readonly means: Meaning;
}

export function randomFilter(random: Random, result: RandomResult, depth = 0): Typed<Condition> {
  const roll = random.below(10);
  if (depth < 3 && roll < 4) {
    const kind = random.pick(['and', 'or'] as const);
    const operands = Array.from({ length: 2 + random.below(2) }, () => randomFilter(random, result, depth + 1));
    const texts = operands.map((operand) => (isJoined(operand.means) ? `(${operand.text})` : operand.text));
    return {
      text: texts.join(random.pick([` ${kind} `, ` ${kind.toUpperCase()}\n`])),
      means: { kind, operands: operands.map((o) => o.means) },
    };
  }
  if (depth < 3 && roll === 4) {
    const operand = randomFilter(random, result, depth + 1);
    return { text: `not (${operand.text})`, means: { kind: 'not', operand: operand.means } };
  }
  return randomTerm(random, result);
}

function isJoined(condition: Condition): boolean {
  return condition.kind === 'and' || condition.kind === 'or';
}

function randomTerm(random: Random, result: RandomResult): Typed<Condition> {
  const column = random.below(result.columns.length);
  const type = typeAt(result, column);
  const name = nameAt(random, result, column);
  if (random.chance(8)) {
    const isNull: Condition = { kind: 'is-null', column };
    return random.chance(50)
      ? { text: `${name} is null`, means: isNull }
      : { text: `${name} is not null`, means: { kind: 'not', operand: isNull } };
  }
  if (type.kind === 'array') {
    const literal = randomLiteral(random, type.element, result, column);
    return { text: `contains(${name}, ${literal.text})`, means: { kind: 'contains', column, cell: literal.means } };
  }
  if (type.kind === 'boolean' && random.chance(40)) {
    if (random.chance(50)) return { text: name, means: { kind: 'flag', column } };
    const truth = random.chance(50);
    return { text: `${name} IS ${truth}`, means: { kind: 'is-truth', column, truth } };
  }
  if ((type.kind === 'varchar' || type.kind === 'json') && random.chance(40)) return randomLike(random, column, name);
  const operand = { text: name, means: { column } };
  if (random.chance(20)) {
    // DuckDB plans a list of five values or more as a join.
    const count = 1 + random.below(random.chance(50) ? 12 : 4);
    const members = Array.from({ length: count }, () => randomOperand(random, result, column));
    const positive: Condition = { kind: 'in', operand: operand.means, members: members.map((m) => m.means) };
    return negated(random, positive, (not) => `${name}${not} in (${members.map((m) => m.text).join(', ')})`);
  }
  if (random.chance(15)) {
    const [low, high] = [randomOperand(random, result, column), randomOperand(random, result, column)];
    const positive: Condition = { kind: 'between', operand: operand.means, low: low.means, high: high.means };
    return negated(random, positive, (not) => `${name}${not} between ${low.text} and ${high.text}`);
  }
  const operator = random.pick(['=', '!=', '<>', '<', '<=', '>', '>=']);
  const other = randomOperand(random, result, column);
  const [left, right] = random.chance(75) ? [operand, other] : [other, operand];
  return {
    text: `${left.text} ${operator} ${right.text}`,
    means: { kind: 'compare', operator, left: left.means, right: right.means },
  };
}

/** A list with so many values that DuckDB plans it as a join. */
export function randomLongList(random: Random, result: RandomResult): Typed<Condition> {
  const scalars = result.columns.flatMap(({ type }, index) => (type.kind === 'array' ? [] : [index]));
  const column = random.pick(scalars);
  const members = Array.from({ length: 6 + random.below(20) }, () => randomOperand(random, result, column));
  const positive: Condition = { kind: 'in', operand: { column }, members: members.map((m) => m.means) };
  const name = nameAt(random, result, column);
  return negated(random, positive, (not) => `${name}${not} in (${members.map((m) => m.text).join(', ')})`);
}

function negated(random: Random, positive: Condition, text: (not: string) => string): Typed<Condition> {
  return random.chance(60)
    ? { text: text(''), means: positive }
    : { text: text(' not'), means: { kind: 'not', operand: positive } };
}

function randomLike(random: Random, column: number, name: string): Typed<Condition> {
  const caseInsensitive = random.chance(50);
  const escapeText = random.chance(40) ? random.pick(['\\', '$']) : undefined;
  const byteChunks = Array.from({ length: random.below(5) }, () =>
    random.pick([
      '%',
      '_',
      'a',
      'B',
      'É',
      '😀',
      '.',
      '*',
      "'",
      ...(escapeText === undefined ? ['\\'] : [`${escapeText}%`, `${escapeText}_`, `${escapeText}${escapeText}`]),
    ]),
  );
  const pattern = byteChunks.join('');
  const tail = escapeText === undefined ? '' : ` escape ${quoted(escapeText)}`;
  const word = caseInsensitive ? 'ilike' : 'like';
  return negated(
    random,
    { kind: 'like', column, pattern, escape: escapeText, caseInsensitive },
    (not) => `${name}${not} ${word} ${quoted(pattern)}${tail}`,
  );
}

/** Mostly a literal; sometimes a column that can be compared with this one. */
function randomOperand(random: Random, result: RandomResult, column: number): Typed<Operand> {
  const type = typeAt(result, column);
  if (random.chance(20)) {
    const others = result.columns.flatMap((other, index) => (kindOf(other.type) === kindOf(type) ? [index] : []));
    const other = random.pick(others);
    return { text: nameAt(random, result, other), means: { column: other } };
  }
  const { text, means } = randomLiteral(random, type, result, column);
  return { text, means: { cell: means } };
}

function kindOf(type: ColumnType): string {
  switch (type.kind) {
    case 'tinyint':
    case 'smallint':
    case 'integer':
    case 'bigint':
    case 'hugeint':
    case 'uint256':
    case 'int256':
    case 'decimal':
    case 'real':
    case 'double':
      return 'number';
    case 'varchar':
    case 'json':
      return 'text';
    case 'date':
    case 'timestamp':
      return 'instant';
    case 'time':
      return `time ${type.withZone}`;
    default:
      return type.kind;
  }
}

export function randomLiteral(random: Random, type: ColumnType, result: RandomResult, column: number): Typed<Cell> {
  if (random.chance(5)) return { text: random.pick(['null', 'NULL']), means: null };
  const present = result.rows
    .map((row) => row[column] ?? null)
    .flatMap((cell) => (cell?.kind === 'list' ? cell.elements : [cell]));
  const known = present.filter((cell) => cell !== null);
  const cell = random.chance(60) && known.length > 0 ? random.pick(known) : randomCell(random, type);
  switch (cell.kind) {
    case 'boolean': {
      const word = String(cell.value);
      return { text: random.pick([word, word.toUpperCase(), quoted(word)]), means: cell };
    }
    case 'exact':
      return numberLiteral(random, cell.units, cell.scale);
    case 'float':
      return floatLiteral(random, cell.value, type.kind === 'real');
    case 'text':
      return random.chance(80) || cell.text.includes('"') ? { text: quoted(cell.text), means: cell } : hexText(random);
    case 'bytes': {
      const digits = random.chance(50) ? cell.hex : cell.hex.toUpperCase();
      return { text: random.chance(50) ? `0x${digits}` : `'0x${digits}'`, means: cell };
    }
    case 'uuid':
      return { text: quoted(random.chance(50) ? cell.text : cell.text.toUpperCase()), means: cell };
    case 'instant':
      return instantLiteral(random, cell.nanos);
    case 'time':
      return { text: quoted(clockText(cell.micros)), means: cell };
    case 'zoned':
      return {
        text: quoted(`${clockText(cell.micros)}${cell.offsetMinutes === 0 ? '' : zoneText(cell.offsetMinutes)}`),
        means: cell,
      };
    case 'interval':
      return { text: quoted(`${cell.months} months ${cell.days} days ${cell.micros} microseconds`), means: cell };
    default:
      throw new Error(`no literals of ${cell.kind}`);
  }
}

function hexText(random: Random): Typed<Cell> {
  const text = random.pick(['0xA0', '0xa0', '0x']);
  return { text, means: { kind: 'text', text } };
}

/** The number itself, or one slightly off, inside and outside of its type's range, in many spellings. */
function numberLiteral(random: Random, base: bigint, baseScale: number): Typed<Cell> {
  const extra = random.pick([0, 0, 0, 1, 5]);
  const shift = random.pick([0n, 0n, 0n, 1n, -1n, 10n ** 80n, -(10n ** 40n)]);
  const units = base * 10n ** BigInt(extra) + shift;
  const scale = baseScale + extra;
  const plain = decimalText(units, scale);
  const spellings = [
    plain,
    `${units}e-${scale}`,
    quoted(plain),
    scale > 0 ? `${plain}00` : `${plain}.0`,
    units < 0n ? plain : `+${plain}`,
  ];
  if (scale === 0 && units >= 0n) spellings.push(`0x${units.toString(16)}`);
  return { text: random.pick(spellings), means: { kind: 'exact', units, scale } };
}

/** A literal takes its column's type: it means the nearest value of the type, unless that is infinite. */
function floatLiteral(random: Random, value: number, isReal: boolean): Typed<Cell> {
  if (!Number.isFinite(value)) return { text: quoted(String(value)), means: { kind: 'float', value } };
  if (random.chance(10)) {
    const negative = random.chance(50);
    const units = (negative ? -1n : 1n) * 10n ** (isReal && random.chance(50) ? 39n : 400n);
    return { text: String(units), means: { kind: 'exact', units, scale: 0 } };
  }
  const text = random.pick([String(value), value.toExponential(), quoted(String(value)), '0.1', '-0.10']);
  const number = Number(text.replaceAll("'", ''));
  return { text, means: { kind: 'float', value: isReal ? Math.fround(number) : number } };
}

function instantLiteral(random: Random, base: bigint): Typed<Cell> {
  const nanos = base + random.pick([0n, 0n, 0n, 1n, -1n, 1_000n, 43_200n * 10n ** 9n]);
  const day = 86_400_000_000_000n;
  const zone = random.pick(['', '', '', 'Z', ' UTC', '+02:00', ' -0530']);
  const offset = zone === '+02:00' ? 120n : zone === ' -0530' ? -330n : 0n;
  const local = nanos + offset * 60n * 10n ** 9n;
  const dayStart = ((local % day) + day) % day;
  const date = new Date(Number((local - dayStart) / 1_000_000n)).toISOString().slice(0, 10);
  const [seconds, fraction] = [dayStart / 10n ** 9n, dayStart % 10n ** 9n];
  const clock = new Date(Number(seconds) * 1000).toISOString().slice(11, 19);
  const decimals = fraction === 0n ? random.pick(['', '.0', '.000']) : `.${String(fraction).padStart(9, '0')}`;
  const isMidnight = dayStart === 0n && zone === '';
  const text = isMidnight && random.chance(60) ? date : `${date}${random.pick([' ', 'T'])}${clock}${decimals}${zone}`;
  return { text: quoted(text), means: { kind: 'instant', nanos } };
}

/** A piece of a value as it is shown, in any case, or a text that a careless search would take for a pattern. */
export function randomSearch(random: Random, fields: readonly (readonly string[])[]): string {
  if (random.chance(25))
    return random.pick([
      '%',
      '_',
      '\\',
      "'",
      '"',
      '.*',
      ' ',
      '-',
      '0x',
      'utc',
      'e',
      '1',
      'É',
      'ς',
      'İ',
      'null',
      'true',
    ]);
  const characters = [...(random.pick(random.pick(fields)) || 'a')];
  const from = random.below(characters.length);
  const piece = characters.slice(from, from + 1 + random.below(6));
  return piece.map((character) => random.pick([character, character.toUpperCase(), character.toLowerCase()])).join('');
}

export function randomSort(random: Random, result: RandomResult): Typed<readonly SortBy[]> {
  const sortable = result.columns.flatMap(({ type }, index) => (type.kind === 'array' ? [] : [index]));
  if (sortable.length === 0) return { text: '', means: [] };
  const keys = Array.from({ length: random.below(4) }, () => {
    const column = random.pick(sortable);
    const direction = random.pick(['', ' asc', ' desc', ' DESC']);
    const nulls = random.pick(['', ' nulls first', ' NULLS LAST']);
    return {
      text: `${nameAt(random, result, column)}${direction}${nulls}`,
      means: { column, descending: direction.toLowerCase() === ' desc', nullsFirst: nulls === ' nulls first' },
    };
  });
  return { text: keys.map((key) => key.text).join(', '), means: keys.map((key) => key.means) };
}

function typeAt(result: RandomResult, column: number): ColumnType {
  const found = result.columns[column];
  if (found === undefined) throw new RangeError(`no column ${column}`);
  return found.type;
}

/** Unquoted where possible, in the exact case: two of the names differ only in case. */
function nameAt(random: Random, result: RandomResult, column: number): string {
  const name = result.columns[column]?.name ?? '';
  const isBare = ['amount', 'Amount', 'block_time', 'tx_hash', 'select', 'naïve'].includes(name);
  if (isBare && random.chance(70)) return name === 'tx_hash' && random.chance(50) ? 'TX_Hash' : name;
  return `"${name.replaceAll('"', '""')}"`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
