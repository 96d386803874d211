/**
 * Random results of every type, in plain cells, and the SQL that stores them as published results are stored. It has a small
 * generator of its own: a run is known by its seed, and twenty thousand cases take a minute.
 */
import { type ColumnType, formatColumnType } from '../../src/domain/column-type.ts';
import { type Column, ROW_GROUP_ROWS_MIN } from '../../src/domain/result-set.ts';
import { quoteText } from '../../src/duckdb/quoting.ts';
import { storageType, storedColumn } from '../../src/duckdb/storage-type.ts';
import type { Cell, Row } from './naive-interpreter.ts';

export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A whole number from 0 to n − 1 (mulberry32). */
  below(n: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % n;
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<T>(from: readonly T[]): T {
    const picked = from[this.below(from.length)];
    if (picked === undefined) throw new Error('nothing to pick from');
    return picked;
  }

  /** Of any number of digits up to `digits`, each equally likely. */
  whole(digits: number): bigint {
    let value = 0n;
    for (let i = 1 + this.below(digits); i > 0; i -= 1) value = value * 10n + BigInt(this.below(10));
    return this.chance(50) ? value : -value;
  }
}

export const SCALAR_TYPES: readonly ColumnType[] = [
  { kind: 'boolean' },
  { kind: 'tinyint' },
  { kind: 'smallint' },
  { kind: 'integer' },
  { kind: 'bigint' },
  { kind: 'hugeint' },
  { kind: 'uint256' },
  { kind: 'int256' },
  { kind: 'real' },
  { kind: 'double' },
  { kind: 'decimal', precision: 4, scale: 0 },
  { kind: 'decimal', precision: 10, scale: 3 },
  { kind: 'decimal', precision: 18, scale: 18 },
  { kind: 'decimal', precision: 38, scale: 0 },
  { kind: 'decimal', precision: 38, scale: 37 },
  { kind: 'varchar' },
  { kind: 'json' },
  { kind: 'varbinary' },
  { kind: 'uuid' },
  { kind: 'date' },
  { kind: 'timestamp', digits: 3, withZone: false },
  { kind: 'timestamp', digits: 6, withZone: true },
  { kind: 'timestamp', digits: 9, withZone: false },
  { kind: 'time', withZone: false },
  { kind: 'time', withZone: true },
  { kind: 'interval' },
];

const NAMES = [
  'amount',
  'Amount',
  'block_time',
  'tx_hash',
  'select',
  'and',
  'a b',
  '"',
  "it's",
  ';--',
  '24h',
  'naïve',
  '😀',
  '%',
  '',
];

export interface RandomResult {
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
}

export function randomResult(random: Random, columnCount: number, rowCount: number): RandomResult {
  const columns = Array.from({ length: columnCount }, (_, index) => ({
    name: NAMES[index] ?? `column ${index}`,
    type: randomType(random),
  }));
  const rows = Array.from({ length: rowCount }, () =>
    columns.map(({ type }) => (random.chance(12) ? null : randomCell(random, type))),
  );
  return { columns, rows };
}

export function randomType(random: Random): ColumnType {
  const type = random.pick(SCALAR_TYPES);
  return random.chance(12) ? { kind: 'array', element: type } : type;
}

const BITS = { tinyint: 8, smallint: 16, integer: 32, bigint: 64, hugeint: 128, int256: 256 } as const;
const LETTERS = [
  'a',
  'A',
  'b',
  'é',
  'É',
  'ß',
  'σ',
  '\uff5e',
  '😀',
  '%',
  '_',
  '\\',
  "'",
  '"',
  '\0',
  '\n',
  '.',
  '*',
  '0',
];
const FLOATS = [
  0,
  -0,
  0.1,
  -0.1,
  1.5,
  1e15,
  1e16,
  1e300,
  -1e300,
  5e-324,
  16777217,
  2 ** 53,
  Number.NaN,
  Infinity,
  -Infinity,
];

export function randomText(random: Random): string {
  return Array.from({ length: random.below(5) }, () => random.pick(LETTERS)).join('');
}

/** Values of one type are often equal or next to each other, and often at an end of its range. */
export function randomCell(random: Random, type: ColumnType): NonNullable<Cell> {
  switch (type.kind) {
    case 'boolean':
      return { kind: 'boolean', value: random.chance(50) };
    case 'tinyint':
    case 'smallint':
    case 'integer':
    case 'bigint':
    case 'hugeint':
    case 'int256': {
      const half = 2n ** BigInt(BITS[type.kind] - 1);
      return exact(within(random, -half, half - 1n), 0);
    }
    case 'uint256':
      return exact(within(random, 0n, 2n ** 256n - 1n), 0);
    case 'decimal': {
      const max = 10n ** BigInt(type.precision) - 1n;
      return exact(within(random, -max, max), type.scale);
    }
    case 'real':
      return { kind: 'float', value: Math.fround(random.chance(50) ? random.pick(FLOATS) : random.below(8) / 10) };
    case 'double':
      return { kind: 'float', value: random.chance(50) ? random.pick(FLOATS) : random.below(8) / 10 };
    case 'varchar':
    case 'json':
      return { kind: 'text', text: randomText(random) };
    case 'varbinary':
      return {
        kind: 'bytes',
        hex: Array.from({ length: random.below(4) }, () => random.pick(['00', 'ab', 'ff'])).join(''),
      };
    case 'uuid': {
      const digit = () => random.pick(['0', '7', 'a', 'f']).repeat(4);
      return { kind: 'uuid', text: `${digit()}${digit()}-0000-4000-8000-00000000${digit()}` };
    }
    case 'date':
      return { kind: 'instant', nanos: randomNanos(random, 86_400_000_000_000n) };
    case 'timestamp':
      return {
        kind: 'instant',
        nanos: randomNanos(random, type.digits === 3 ? 1_000_000n : type.digits === 6 ? 1_000n : 1n),
      };
    case 'time':
      return type.withZone
        ? { kind: 'zoned', micros: randomMicros(random), offsetMinutes: random.pick([0, 0, 120, -330, 60]) }
        : { kind: 'time', micros: randomMicros(random) };
    case 'interval':
      return {
        kind: 'interval',
        months: BigInt(random.below(3) - 1),
        days: BigInt(random.below(62) - 31),
        micros: random.chance(50) ? 0n : random.whole(11),
      };
    case 'array':
      return {
        kind: 'list',
        elements: Array.from({ length: random.below(4) }, () =>
          random.chance(15) ? null : randomCell(random, type.element),
        ),
      };
    default:
      throw new Error(`no random values of ${formatColumnType(type)}`);
  }
}

function exact(units: bigint, scale: number): NonNullable<Cell> {
  return { kind: 'exact', units, scale };
}

function within(random: Random, min: bigint, max: bigint): bigint {
  if (random.chance(10)) return random.pick([min, max, min + 1n, max - 1n]);
  const value = random.whole(max.toString().length);
  return value < min || value > max ? (min < 0n ? value % 10n : BigInt(random.below(10))) : value;
}

/** Within the years that TIMESTAMP_NS can hold. */
function randomNanos(random: Random, unit: bigint): bigint {
  const day = 86_400_000_000_000n;
  const days = BigInt(random.below(5) - 2) * (random.chance(80) ? 1n : 20_000n);
  const nanos = days * day + random.pick([0n, unit, -unit, day / 2n]);
  return nanos - (nanos % unit);
}

function randomMicros(random: Random): bigint {
  return BigInt(random.below(4)) * 3_600_000_000n + BigInt(random.below(2));
}

/**
 * SQL that writes the rows as one part at `path`, in their order. Values are literals, since the tests trust their own: each
 * value once, and for each row which of them it has.
 */
export function storeAs(result: RandomResult, path: string): string {
  const columns = result.columns.map(({ type }, index) => {
    const literals = result.rows.map((row) => literalOf(row[index] ?? null, type));
    const distinct = new Map([...new Set(literals)].map((literal, at) => [literal, at + 1]));
    const values = `[${[...distinct.keys()].join(', ')}]::${storageType(type)}[]`;
    const which = `[${literals.map((literal) => distinct.get(literal)).join(', ')}]`;
    return `(${values})[(${which})[i + 1]] AS ${storedColumn(index)}`;
  });
  const rows = `SELECT ${columns.join(', ')} FROM range(${result.rows.length}) r(i) ORDER BY i`;
  return `COPY (${rows}) TO '${path}' (FORMAT parquet, ROW_GROUP_SIZE ${ROW_GROUP_ROWS_MIN})`;
}

function literalOf(cell: Cell, type: ColumnType): string {
  const stored = storageType(type);
  if (cell === null) return `NULL::${stored}`;
  switch (cell.kind) {
    case 'boolean':
      return String(cell.value);
    case 'exact':
      return `'${decimalText(cell.units, cell.scale)}'::${stored}`;
    case 'float':
      return `'${Object.is(cell.value, -0) ? '-0.0' : cell.value}'::${stored}`;
    case 'text':
      return `${quoteText(cell.text)}::VARCHAR`;
    case 'bytes':
      return `unhex('${cell.hex}')`;
    case 'uuid':
      return `'${cell.text}'::UUID`;
    case 'instant':
      if (type.kind === 'date') return `make_date(${cell.nanos / 86_400_000_000_000n}::INTEGER)`;
      if (stored === 'TIMESTAMP_NS') return `make_timestamp_ns(${cell.nanos})`;
      return `make_timestamp${stored === 'TIMESTAMP' ? '' : 'tz'}(${cell.nanos / 1000n})`;
    case 'time':
      return `'${clockText(cell.micros)}'::TIME`;
    case 'zoned':
      return `'${clockText(cell.micros)}${zoneText(cell.offsetMinutes)}'::TIMETZ::VARCHAR`;
    case 'interval':
      return `'${cell.months} months ${cell.days} days ${cell.micros} microseconds'::INTERVAL::VARCHAR`;
    case 'list': {
      const element = type.kind === 'array' ? type.element : type;
      return `[${cell.elements.map((member) => literalOf(member, element)).join(', ')}]::${stored}`;
    }
    default:
      return cell satisfies never;
  }
}

export function decimalText(units: bigint, scale: number): string {
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, '0');
  const point = digits.length - scale;
  return `${units < 0n ? '-' : ''}${digits.slice(0, point)}${scale > 0 ? `.${digits.slice(point)}` : ''}`;
}

export function clockText(micros: bigint): string {
  return `${new Date(Number(micros / 1000n)).toISOString().slice(11, 23)}${String(micros % 1000n).padStart(3, '0')}`;
}

export function zoneText(minutes: number): string {
  const size = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${String(Math.floor(size / 60)).padStart(2, '0')}:${String(size % 60).padStart(2, '0')}`;
}
