/**
 * Law of foreign writers: a Parquet file of any type at any depth is published exactly, or refused with its column's name.
 * These files are pyarrow's, among them the shapes of ClickHouse's files; DuckDB's own are in duckdb-writer.property.test.ts.
 * What is expected is computed here, from the numbers in the file.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { test } from 'node:test';
import fc from 'fast-check';
import { pythonWithPyarrow } from '../../scripts/pyarrow.ts';
import { canonicalJson, rowsText } from './exact-json.ts';
import { startHttpService } from './http-service.ts';

const CASES = Number(process.env.TEST_CASES ?? 12);
const SEED = Number(process.env.TEST_SEED ?? 20_240_305);

const python = pythonWithPyarrow();
const SKIP = python === undefined && 'there is no pyarrow: run `npm run setup:pyarrow`, which needs Python 3 and PyPI';

/** A scalar: what the file physically holds, and the JSON that the service must answer. Undefined: it must refuse. */
interface Cell {
  readonly physical: string | null;
  readonly json: string | undefined;
}

interface ForeignType {
  readonly arrow: string;
  /** The column type that is expected. */
  readonly type: string;
  readonly cell: fc.Arbitrary<Cell>;
}

const NULL: Cell = { physical: null, json: 'null' };

function units(bits: number, signed: boolean): fc.Arbitrary<bigint> {
  const [min, max] = signed ? [-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits - 1) - 1n] : [0n, 2n ** BigInt(bits) - 1n];
  return fc.oneof(fc.bigInt({ min, max }), fc.constantFrom(min, min + 1n, 0n, 1n, max - 1n, max));
}

function integer(arrow: string, type: string, bits: number, signed: boolean): ForeignType {
  const quote = type.startsWith('decimal') ? '"' : '';
  return { arrow, type, cell: units(bits, signed).map((n) => ({ physical: String(n), json: `${quote}${n}${quote}` })) };
}

function decimal(bits: number, precision: number, scale: number): ForeignType {
  const max = 10n ** BigInt(precision) - 1n;
  const value = fc.oneof(
    fc.bigInt({ min: -max, max }),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n }).map((n) => n % (max + 1n)),
    fc.constantFrom(-max, -1n, 0n, 1n, max, 2n ** 120n % (max + 1n), -(2n ** 119n) % (max + 1n)),
  );
  return {
    arrow: `pa.decimal${bits}(${precision}, ${scale})`,
    type: `decimal(${precision}, ${scale})`,
    cell: value.map((n) => {
      const digits = String(n < 0n ? -n : n).padStart(scale + 1, '0');
      const text = `${n < 0n ? '-' : ''}${digits.slice(0, digits.length - scale)}${scale > 0 ? `.${digits.slice(-scale)}` : ''}`;
      return { physical: text, json: `"${text}"` };
    }),
  };
}

const UNITS_PER_SECOND = { s: 1n, ms: 1000n, us: 1_000_000n, ns: 1_000_000_000n } as const;
type Unit = keyof typeof UNITS_PER_SECOND;
const YEAR_1 = -62_135_596_800n;
const YEAR_10000 = 253_402_300_800n;

/** Not for seconds: pyarrow writes them as milliseconds, and refuses itself where these do not fit. */
const INT64_ENDS = [-(2n ** 63n), 2n ** 63n - 1n];

/** Counts near each other and near every limit: of 64 bits, of years, of the range of nanoseconds. */
function counts(unit: Unit): fc.Arbitrary<bigint> {
  const perSecond = UNITS_PER_SECOND[unit];
  const ends = [YEAR_1 * perSecond, YEAR_10000 * perSecond, 0n].filter((n) => BigInt.asIntN(64, n) === n);
  const near = ends.flatMap((n) => [n - 1n, n, n + 1n]);
  const usual = fc.bigInt({ min: -5_000_000_000n * perSecond, max: 9_000_000_000n * perSecond });
  return fc.oneof(
    { weight: 6, arbitrary: usual },
    { weight: 3, arbitrary: usual.map((n) => n - (n % perSecond)) },
    { weight: 1, arbitrary: fc.constantFrom(...near, ...(unit === 's' ? [] : INT64_ENDS)) },
  );
}

/** @param stored how many digits of a second the column type has */
function instant(unit: Unit, zone: string, stored: 3 | 6 | 9): ForeignType {
  const perSecond = UNITS_PER_SECOND[unit];
  const suffix = zone === '' ? '' : ' UTC';
  return {
    arrow: `pa.timestamp('${unit}'${zone === '' ? '' : `, '${zone}'`})`,
    type: `timestamp(${stored})${zone === '' ? '' : ' with time zone'}`,
    cell: counts(unit).map((count) => ({
      physical: String(count),
      json: instantText(count * (1_000_000_000n / perSecond), stored, suffix),
    })),
  };
}

function instantText(nanos: bigint, digits: number, suffix: string): string | undefined {
  const seconds = (nanos - (((nanos % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n)) / 1_000_000_000n;
  const fraction = String(nanos - seconds * 1_000_000_000n).padStart(9, '0');
  if (seconds < YEAR_1 || seconds >= YEAR_10000 || /[1-9]/.test(fraction.slice(digits))) return undefined;
  const day = new Date(Number(seconds) * 1000).toISOString().slice(0, 19).replace('T', ' ');
  // The first day for which DuckDB has nanoseconds, and the value that stands for infinity.
  if (digits === 9 && (nanos < -9_223_286_400_000_000_000n || nanos > 2n ** 63n - 2n)) return undefined;
  return `"${day}.${fraction.slice(0, digits)}${suffix}"`;
}

function timeOfDay(bits: 32 | 64, unit: 's' | 'ms' | 'us' | 'ns'): ForeignType {
  const perSecond = UNITS_PER_SECOND[unit];
  const day = 86_400n * perSecond;
  const usual = fc.bigInt({ min: 0n, max: day - 1n });
  // pyarrow writes seconds as milliseconds in 32 bits.
  const odd = fc.constantFrom(-1n, day, day + 1n);
  return {
    arrow: `pa.time${bits}('${unit}')`,
    type: 'time',
    cell: fc.oneof({ weight: 9, arbitrary: usual }, { weight: 1, arbitrary: odd }).map((count) => {
      const nanos = count * (1_000_000_000n / perSecond);
      const fits = count >= 0n && count < day && nanos % 1000n === 0n;
      const [clock, fraction = ''] = (instantText(nanos, 9, '') ?? '').slice(12, -1).split('.');
      const shown = fraction.replace(/0+$/, '');
      return { physical: String(count), json: fits ? `"${clock}${shown === '' ? '' : `.${shown}`}"` : undefined };
    }),
  };
}

const hex = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('hex'));
const fixedHex = (length: number) =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((bytes) => Buffer.from(bytes).toString('hex'));
const binary = (arrow: string, bytes: fc.Arbitrary<string>): ForeignType => ({
  arrow,
  type: 'varbinary',
  cell: bytes.map((digits) => ({ physical: digits, json: `"0x${digits}"` })),
});
const text = (arrow: string): ForeignType => ({
  arrow,
  type: 'varchar',
  cell: fc
    .oneof(fc.string({ unit: 'grapheme', maxLength: 6 }), fc.constantFrom('', 'null', 'NaN', '\u0000', '"'))
    .map((value) => ({ physical: value, json: JSON.stringify(value) })),
});
const floating = (arrow: string, type: string, values: fc.Arbitrary<number>): ForeignType => ({
  arrow,
  type,
  cell: fc.oneof(values, fc.constantFrom(0, -0, Number.NaN, Infinity, -Infinity)).map((value) => ({
    physical: Object.is(value, -0) ? '-0.0' : String(value),
    json: Number.isFinite(value) ? `${value.toExponential()}` : `"${value}"`,
  })),
});

const TYPES: readonly ForeignType[] = [
  integer('pa.int8()', 'tinyint', 8, true),
  integer('pa.int16()', 'smallint', 16, true),
  integer('pa.int32()', 'integer', 32, true),
  integer('pa.int64()', 'bigint', 64, true),
  integer('pa.uint8()', 'smallint', 8, false),
  integer('pa.uint16()', 'integer', 16, false),
  integer('pa.uint32()', 'bigint', 32, false),
  integer('pa.uint64()', 'decimal(20, 0)', 64, false),
  // Parquet has no logical type for a duration: it becomes its plain number.
  integer(`pa.duration('ns')`, 'bigint', 64, true),
  decimal(32, 5, 2),
  decimal(64, 18, 18),
  decimal(128, 10, 0),
  decimal(128, 38, 6),
  decimal(256, 20, 3),
  decimal(256, 39, 0),
  decimal(256, 76, 0),
  decimal(256, 76, 18),
  decimal(256, 76, 76),
  decimal(256, 40, 40),
  instant('s', '', 3),
  instant('ms', '', 3),
  instant('us', '', 6),
  instant('ns', '', 9),
  instant('s', 'UTC', 3),
  instant('ms', 'Europe/Berlin', 3),
  instant('us', 'UTC', 6),
  instant('ns', 'UTC', 6),
  timeOfDay(32, 's'),
  timeOfDay(32, 'ms'),
  timeOfDay(64, 'us'),
  timeOfDay(64, 'ns'),
  {
    arrow: 'pa.date32()',
    type: 'date',
    cell: fc
      .oneof(
        { weight: 8, arbitrary: fc.integer({ min: -719_162, max: 2_932_896 }) },
        { weight: 1, arbitrary: fc.constantFrom(-719_163, 2_932_897, 2 ** 31 - 1, -(2 ** 31) + 1, -(2 ** 31)) },
      )
      .map((days) => ({
        physical: String(days),
        json:
          days < -719_162 || days > 2_932_896
            ? undefined
            : `"${new Date(days * 86_400_000).toISOString().slice(0, 10)}"`,
      })),
  },
  floating('pa.float64()', 'double', fc.double({ noNaN: true, noDefaultInfinity: true })),
  floating('pa.float32()', 'real', fc.constantFrom(1, -1.5, 0.1, 1e10, 1e-10, 16777216, 3.4e38)),
  floating('pa.float16()', 'real', fc.constantFrom(1, -1.5, 0.5, 2048, 65504)),
  {
    arrow: 'pa.bool_()',
    type: 'boolean',
    cell: fc.boolean().map((value) => ({ physical: value as never, json: String(value) })),
  },
  text('pa.string()'),
  text('pa.large_string()'),
  text('pa.dictionary(pa.int32(), pa.string())'),
  binary('pa.binary()', hex),
  binary('pa.large_binary()', hex),
  // As ClickHouse writes (U)Int128 and (U)Int256: bytes without a logical type, so nothing says what they mean.
  binary('pa.binary(16)', fixedHex(16)),
  binary('pa.binary(32)', fixedHex(32)),
  {
    arrow: 'pa.uuid()',
    type: 'uuid',
    cell: fixedHex(16).map((digits) => ({
      physical: digits,
      json: `"${digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')}"`,
    })),
  },
  {
    arrow: 'pa.json_()',
    type: 'json',
    cell: fc
      .constantFrom('{"a": [1, 2.50]}', '"x"', 'null')
      .map((json) => ({ physical: json, json: JSON.stringify(json) })),
  },
];

type Shape = 'list' | 'map' | 'row';
const SHAPES: readonly (readonly Shape[])[] = [
  [],
  ['list'],
  ['map'],
  ['row'],
  ['list', 'list'],
  ['list', 'map'],
  ['list', 'row'],
  ['map', 'list'],
  ['map', 'row'],
  ['row', 'row'],
  ['row', 'list'],
  ['row', 'map'],
];

type Value = string | null | readonly Value[];
interface ShapedCell {
  readonly physical: Value;
  readonly json: string | undefined;
}

function shapedCell(cell: fc.Arbitrary<Cell>, shape: readonly Shape[]): fc.Arbitrary<ShapedCell> {
  const [word, ...rest] = shape;
  const some: fc.Arbitrary<ShapedCell> =
    word === undefined
      ? cell
      : fc
          .array(shapedCell(cell, rest), word === 'row' ? { minLength: 2, maxLength: 2 } : { maxLength: 3 })
          .map((members) => ({
            physical: members.map(({ physical }) => physical),
            json: members.some(({ json }) => json === undefined) ? undefined : jsonOf(word, members),
          }));
  return fc.option(some, { nil: NULL, freq: 6 });
}

function jsonOf(word: Shape, members: readonly ShapedCell[]): string {
  if (word === 'list') return `[${members.map(({ json }) => json).join(',')}]`;
  const keys = word === 'row' ? ['a', 'A'] : members.map((_, i) => `k${i}`);
  return `{${members.map(({ json }, i) => `"${keys[i]}":${json}`).join(',')}}`;
}

function typeName(type: string, shape: readonly Shape[]): string {
  const [word, ...rest] = shape;
  if (word === undefined) return type;
  const inner = typeName(type, rest);
  return { list: `array(${inner})`, map: `map(varchar, ${inner})`, row: `row(a ${inner}, A ${inner})` }[word];
}

const column = fc
  .tuple(fc.constantFrom(...TYPES), fc.constantFrom(...SHAPES))
  .chain(([type, shape]) =>
    fc
      .array(shapedCell(type.cell, shape), { minLength: 1, maxLength: 6 })
      .map((cells) => ({ arrow: type.arrow, type: type.type, shape, cells })),
  );

const options = fc.record({
  version: fc.constantFrom('2.4', '2.6'),
  data_page_version: fc.constantFrom('1.0', '2.0'),
  compression: fc.constantFrom('snappy', 'zstd', 'none', 'gzip'),
  use_dictionary: fc.boolean(),
  write_statistics: fc.boolean(),
  store_decimal_as_integer: fc.boolean(),
  use_compliant_nested_type: fc.boolean(),
  row_group_size: fc.constantFrom(1, 2, 100),
});

/** A Python process with pyarrow, which is told line by line what to write. */
class Writer {
  readonly #process: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  constructor(interpreter: string) {
    const script = join(import.meta.dirname, 'write-parquet.py');
    this.#process = spawn(interpreter, [script], { stdio: ['pipe', 'pipe', 'inherit'] });
    if (this.#process.stdout === null) throw new TypeError('standard output is a pipe');
    this.#lines = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]();
  }

  async write(told: unknown): Promise<void> {
    this.#process.stdin?.write(`${JSON.stringify(told)}\n`);
    const { value } = await this.#lines.next();
    assert.equal(value, 'written');
  }

  end(): void {
    this.#process.stdin?.end();
  }
}

test("pyarrow's files of any type at any depth are published exactly, or refused by name", {
  skip: SKIP,
}, async (t) => {
  const service = await startHttpService(t);
  const writer = new Writer(python ?? '');
  t.after(() => writer.end());
  const path = join(service.commandLine.dataDir, 'foreign.parquet');
  const law = fc.asyncProperty(fc.array(column, { minLength: 1, maxLength: 12 }), options, async (columns, how) => {
    // All columns are cut to the length of the shortest.
    const rows = Math.min(...columns.map(({ cells }) => cells.length));
    const kept = columns.map((one, i) => ({ ...one, name: `c${i}`, cells: one.cells.slice(0, rows) }));
    // Version 2.4 has no nanoseconds: pyarrow would cut them itself.
    const needsNanos = kept.some(({ arrow }) => arrow.includes(`'ns'`));
    const told = kept.map(({ name, arrow, shape, cells }) => ({
      name,
      type: arrow,
      shape,
      values: cells.map(({ physical }) => physical),
    }));
    await writer.write({ path, options: { ...how, ...(needsNanos && { version: '2.6' }) }, columns: told });
    const bad = kept.filter(({ cells }) => cells.some(({ json }) => json === undefined));
    const publishing = service.publish(7, await readFile(path), { format: 'parquet' });
    if (bad.length > 0) {
      const { message } = await publishing.then(
        () => assert.fail(`published, though ${bad.map(({ name }) => name)} cannot be stored`),
        (error: Error) => error,
      );
      const named = /column "(c\d+)"/.exec(message)?.[1];
      assert.ok(
        bad.some(({ name }) => name === named),
        message,
      );
      return;
    }
    const { id } = await publishing;
    const response = await service.get(`/v1/execution/${id}/results?ignore_max_datapoints_per_request=true`);
    const answer = await response.text();
    assert.equal(response.status, 200, answer);
    const { column_types: types } = JSON.parse(answer).result.metadata;
    assert.deepEqual(
      types,
      kept.map(({ type, shape }) => typeName(type, shape)),
    );
    const expected = Array.from(
      { length: rows },
      (_, row) => `{${kept.map(({ name, cells }) => `"${name}":${cells[row]?.json}`).join(',')}}`,
    );
    assert.equal(canonicalJson(rowsText(answer)), canonicalJson(expected.join(',')));
  });
  await fc.assert(law, { numRuns: CASES, seed: SEED });
});
