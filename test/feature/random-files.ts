/**
 * Random files for property tests: columns of every type of contract §6, and cells with what each must be in an answer. What is
 * expected comes from how the value was made, never from the code under test.
 */
import fc from 'fast-check';

export interface RandomCell {
  /** JSON, as it stands in the file. */
  readonly source: string;
  /** JSON, as it must stand in the answer. */
  readonly expected: string;
  /** Cell bytes. */
  readonly bytes: number;
}

export interface RandomColumn {
  readonly name: string;
  readonly type: string;
}

export interface RandomFile {
  readonly columns: readonly RandomColumn[];
  readonly rows: readonly (readonly RandomCell[])[];
}

interface TypeOfCells {
  readonly type: string;
  readonly cell: fc.Arbitrary<RandomCell>;
}

const NULL: RandomCell = { source: 'null', expected: 'null', bytes: 0 };

const MARKS = [
  'a',
  'B',
  'é',
  'ß',
  '中',
  '😀',
  ' ',
  ',',
  '"',
  "'",
  '\\',
  '\n',
  '\r',
  '\t',
  '\u0001',
  '\u007f',
  '#',
  '%',
  '{',
  '0',
];
const text = fc.oneof(
  fc.string({ unit: fc.constantFrom(...MARKS), maxLength: 8 }),
  fc.constantFrom('', 'null', 'NaN', '-', '1e5', '0x00', 'true', '\ufeff', '\u2028', 'x'.repeat(300)),
);
const name = fc.string({ unit: fc.constantFrom(...MARKS, '$', '.', '/', '~', 'A', 'b'), maxLength: 5 });

function scalar(type: string, bytes: number, values: fc.Arbitrary<string>): TypeOfCells {
  return { type, cell: values.map((json) => ({ source: json, expected: json, bytes })) };
}

/** Whole numbers of so many bits, often at an end of their range. Wide ones are strings. */
function whole(type: string, bits: number, bytes: number, signed = true): TypeOfCells {
  const [min, max] = signed ? [-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits - 1) - 1n] : [0n, 2n ** BigInt(bits) - 1n];
  const value = fc.oneof(fc.bigInt({ min, max }), fc.constantFrom(min, max, 0n, 1n));
  return scalar(
    type,
    bytes,
    value.map((n) => (bits > 64 ? `"${n}"` : String(n))),
  );
}

function decimal(precision: number, scale: number): TypeOfCells {
  const max = 10n ** BigInt(precision) - 1n;
  const units = fc.oneof(fc.bigInt({ min: -max, max }), fc.constantFrom(-max, max, 0n, 1n, -1n));
  const cell = fc.tuple(units, fc.integer({ min: 0, max: 9 })).map(([n, way]) => {
    const digits = String(n < 0n ? -n : n).padStart(scale + 1, '0');
    const point = digits.length - scale;
    const expected = `"${n < 0n ? '-' : ''}${digits.slice(0, point)}${scale > 0 ? `.${digits.slice(point)}` : ''}"`;
    // Some are written with an exponent.
    return { source: way === 0 ? `"${n}e-${scale}"` : expected, expected, bytes: precision > 38 ? 32 : 16 };
  });
  return { type: `decimal(${precision}, ${scale})`, cell };
}

function floating(type: string, bytes: number, finite: fc.Arbitrary<number>): TypeOfCells {
  const number = finite.map((n) => {
    const digits = JSON.stringify(n);
    // A large one is compared as the double that it is.
    return Number.isSafeInteger(n) || !/^-?[0-9]+$/.test(digits) ? digits : n.toExponential();
  });
  const { cell } = scalar(type, bytes, fc.oneof(number, number, fc.constantFrom('"NaN"', '"Infinity"', '"-Infinity"')));
  // There is one zero, whatever its sign in the file.
  return {
    type,
    cell: fc.oneof({ weight: 9, arbitrary: cell }, fc.constant({ source: '-0.0', expected: '0', bytes })),
  };
}

/** Instants of the years 1 to 9999, or from 1700 to 2200 those with nanoseconds. */
function timestamp(digits: 3 | 6 | 9, zone: '' | ' UTC'): TypeOfCells {
  const [min, max] = digits === 9 ? ['1700-01-01', '2200-01-01'] : ['0001-01-01', '9999-12-31'];
  const millis = fc.integer({ min: Date.parse(min), max: Date.parse(max) });
  const rest = fc.integer({ min: 0, max: 10 ** (digits - 3) - 1 });
  const values = fc.tuple(millis, rest).map(([ms, more]) => {
    const shown = new Date(ms).toISOString().replace('T', ' ').slice(0, -1);
    return `"${shown}${digits === 3 ? '' : String(more).padStart(digits - 3, '0')}${zone}"`;
  });
  return scalar(`timestamp(${digits})${zone === '' ? '' : ' with time zone'}`, 8, values);
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

const SCALARS: readonly TypeOfCells[] = [
  scalar('boolean', 1, fc.constantFrom('true', 'false')),
  whole('tinyint', 8, 1),
  whole('smallint', 16, 2),
  whole('integer', 32, 4),
  whole('bigint', 64, 8),
  whole('hugeint', 128, 16),
  whole('int256', 256, 32),
  whole('uint256', 256, 32, false),
  decimal(5, 0),
  decimal(10, 3),
  decimal(18, 18),
  decimal(38, 6),
  decimal(38, 38),
  decimal(39, 0),
  decimal(60, 18),
  decimal(76, 76),
  floating('double', 8, fc.double({ noNaN: true, noDefaultInfinity: true })),
  floating('real', 4, fc.constantFrom(0, 1, -1.5, 0.1, 1e10, 1e-10, 16777216, 3.4e38)),
  {
    type: 'varchar',
    cell: text.map((t) => ({ source: JSON.stringify(t), expected: JSON.stringify(t), bytes: Buffer.byteLength(t) })),
  },
  {
    type: 'varbinary',
    cell: fc
      .uint8Array({ maxLength: 40 })
      .map((b) => ({ source: `"0X${hex(b).toUpperCase()}"`, expected: `"0x${hex(b)}"`, bytes: b.length })),
  },
  {
    type: 'json',
    cell: fc.constantFrom('{"a":[1,"é"]}', '[]', '"x"', '1.5', '[{"b":null}]').map((json) => ({
      // Where JSON is declared, a string holds JSON text, so a JSON string is written inside a string.
      source: json.startsWith('"') ? JSON.stringify(json) : json,
      expected: JSON.stringify(json),
      bytes: Buffer.byteLength(json),
    })),
  },
  scalar(
    'uuid',
    16,
    fc.uuid().map((uuid) => `"${uuid}"`),
  ),
  scalar(
    'date',
    4,
    fc
      .integer({ min: -719_000, max: 2_900_000 })
      .map((days) => `"${new Date(days * 86_400_000).toISOString().slice(0, 10)}"`),
  ),
  timestamp(3, ''),
  timestamp(6, ''),
  timestamp(9, ''),
  timestamp(3, ' UTC'),
  timestamp(6, ' UTC'),
  scalar('time', 8, fc.constantFrom('"00:00:00"', '"23:59:59.999999"', '"20:50:59.5"')),
  scalar('time with time zone', 8, fc.constantFrom('"00:00:00+00"', '"20:50:59-05:30"', '"20:50:59.5+02"')),
  scalar('interval', 16, fc.constantFrom('"1 year 2 days"', '"-3 days"', '"01:02:03"', '"00:00:00"')),
];

function array({ type, cell }: TypeOfCells): TypeOfCells {
  return {
    type: `array(${type})`,
    cell: fc.array(nullable(cell), { maxLength: 3 }).map((cells) => joined('[', cells, ']')),
  };
}

/** Keys of objects are texts: a value of another type is written as CSV would spell it. */
function map(key: TypeOfCells, { type, cell }: TypeOfCells): TypeOfCells {
  const keys = key.cell.map(({ expected, bytes }) => ({
    text: expected.startsWith('"') ? String(JSON.parse(expected)) : expected,
    bytes,
  }));
  const entries = fc.uniqueArray(fc.tuple(keys, nullable(cell)), { maxLength: 3, selector: ([{ text }]) => text });
  return {
    type: `map(${key.type}, ${type})`,
    cell: entries.map((pairs) => {
      const cells = pairs.map(([{ text, bytes }, value]) => named(text, value, bytes));
      return joined('{', cells, '}');
    }),
  };
}

function row(fields: readonly TypeOfCells[]): TypeOfCells {
  const names = ['a', 'A', 'b c', '"'];
  const types = fields.map(({ type }, i) => `"${names[i]?.replaceAll('"', '""')}" ${type}`);
  const cells = fc.tuple(...fields.map(({ cell }) => nullable(cell)));
  return {
    // As the service prints the type: quotes only around names that need them.
    type: `row(${types.map((type) => type.replace(/^"([A-Za-z]+)"/, '$1')).join(', ')})`,
    cell: cells.map((values) =>
      joined(
        '{',
        values.map((value, i) => named(names[i] ?? '', value, 0)),
        '}',
      ),
    ),
  };
}

function named(key: string, value: RandomCell, keyBytes: number): RandomCell {
  const quoted = JSON.stringify(key);
  return {
    source: `${quoted}:${value.source}`,
    expected: `${quoted}:${value.expected}`,
    bytes: keyBytes + value.bytes,
  };
}

function joined(open: string, cells: readonly RandomCell[], close: string): RandomCell {
  return {
    source: open + cells.map(({ source }) => source).join(',') + close,
    expected: open + cells.map(({ expected }) => expected).join(',') + close,
    bytes: cells.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

function nullable(cell: fc.Arbitrary<RandomCell>): fc.Arbitrary<RandomCell> {
  return fc.option(cell, { nil: NULL, freq: 5 });
}

const scalarType = fc.constantFrom(...SCALARS);
/** Of floating keys only those with a single spelling. */
const keyType = fc.constantFrom(
  ...SCALARS.filter(({ type }) => type !== 'double' && type !== 'real'),
  ...['double', 'real'].map((type) => scalar(type, type === 'real' ? 4 : 8, fc.constantFrom('0.5', '-1.5', '"NaN"'))),
  array(scalar('integer', 4, fc.constantFrom('0', '-1', '2147483647'))),
);
const nestedType = fc.oneof(
  scalarType.map(array),
  fc.tuple(keyType, scalarType).map(([key, value]) => map(key, value)),
  fc.array(scalarType, { minLength: 1, maxLength: 4 }).map(row),
  scalarType.map((type) => array(array(type))),
  scalarType.map((type) => array(row([type]))),
);
const columnType = fc.oneof({ weight: 3, arbitrary: scalarType }, { weight: 1, arbitrary: nestedType });

/** Files of at least one row: NDJSON without rows has no columns. */
export function randomFile(rowsMax: number): fc.Arbitrary<RandomFile> {
  const column = fc.tuple(name, columnType);
  const columns = fc.uniqueArray(column, { minLength: 1, maxLength: 6, selector: ([columnName]) => columnName });
  return columns.chain((chosen) => {
    const cells = fc.tuple(...chosen.map(([, { cell }]) => nullable(cell)));
    return fc.array(cells, { minLength: 1, maxLength: rowsMax }).map((rows) => ({
      columns: chosen.map(([columnName, { type }]) => ({ name: columnName, type })),
      rows,
    }));
  });
}

/** The file as NDJSON. */
export function ndjsonOf(file: RandomFile): string {
  return file.rows.map((cells) => `${objectOf(file.columns, cells, ({ source }) => source)}\n`).join('');
}

/** The file as CSV, every field in quotes; null is an empty field. In CSV a column without a name stays without one. */
export function csvOf(file: RandomFile): string {
  const quoted = (field: string) => `"${field.replaceAll('"', '""')}"`;
  const header = file.columns.map((column) => quoted(column.name)).join(',');
  const lines = file.rows.map((cells) =>
    cells.map(({ source }) => (source === 'null' ? '' : quoted(csvText(source)))).join(','),
  );
  return [header, ...lines].map((line) => `${line}\n`).join('');
}

/** The text of a JSON string; any other JSON as it is written. */
function csvText(source: string): string {
  return source.startsWith('"') ? String(JSON.parse(source)) : source;
}

/** The rows as they must be in an answer, separated by commas. */
export function expectedRows(file: RandomFile): string {
  return file.rows.map((cells) => objectOf(file.columns, cells, ({ expected }) => expected)).join(',');
}

export function typesOf(file: RandomFile): Readonly<Record<string, string>> {
  return Object.fromEntries(file.columns.map(({ name: column, type }) => [column, type]));
}

function objectOf(
  columns: readonly RandomColumn[],
  cells: readonly RandomCell[],
  textOf: (cell: RandomCell) => string,
): string {
  return `{${columns.map((column, i) => `${JSON.stringify(column.name)}:${textOf(cells[i] ?? NULL)}`).join(',')}}`;
}

/** The cell bytes of the first `columnCount` columns. */
export function cellBytesOf(rows: RandomFile['rows'], columnCount: number): number {
  return rows.flatMap((cells) => cells.slice(0, columnCount)).reduce((sum, { bytes }) => sum + bytes, 0);
}
