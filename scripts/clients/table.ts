/**
 * The table that every client reads: a column of each type that clients get wrong, with the values that they get wrong. A cell is text in
 * one spelling for each type, or null; two cells are the same when they mean the same value, exactly.
 */
export type Cell = string | null;

export interface TableColumn {
  readonly name: string;
  readonly type: string;
}

export const COLUMNS: readonly TableColumn[] = [
  { name: 'id', type: 'bigint' },
  { name: 'flag', type: 'boolean' },
  { name: 'big', type: 'bigint' },
  { name: 'amount', type: 'uint256' },
  { name: 'price', type: 'decimal(20, 4)' },
  { name: 'ratio', type: 'double' },
  { name: 'name', type: 'varchar' },
  { name: 'hash', type: 'varbinary' },
  { name: 'day', type: 'date' },
  { name: 'at', type: 'timestamp(3)' },
  { name: 'seen', type: 'timestamp(6) with time zone' },
  { name: 'tags', type: 'array(varchar)' },
  { name: 'counts', type: 'array(bigint)' },
];

const UINT256_MAX = String(2n ** 256n - 1n);

/** Lists as JSON. */
export const ROWS: readonly (readonly Cell[])[] = [
  [
    ['1', 'true', '9007199254740993', UINT256_MAX, '0.1000', '0.1', 'plain', '0x00ff'],
    ['2024-03-05', '2024-03-05 20:50:59.123', '2024-03-05 20:50:59.123456', '["a","b"]', '[1,9007199254740993]'],
  ],
  [
    ['2', 'false', '-9223372036854775808', '0', '-1234567890123456.7891', '-1.7976931348623157e308', '', '0x'],
    ['1969-12-31', '1969-12-31 23:59:59.999', '1969-12-31 23:59:59.999999', '[]', '[]'],
  ],
  [
    ['3', null, null, null, null, null, null, null],
    [null, null, null, null, null],
  ],
  [
    ['4', 'true', '9223372036854775807', '18446744073709551616', '0.0000', '5e-324', '007', '0xdeadbeef'],
    ['0001-01-01', '2000-02-29 00:00:00.000', '2000-02-29 00:00:00.000000', '["","null",null]', '[null]'],
  ],
  [
    [
      '5',
      'true',
      '0',
      '340282366920938463463374607431768211456',
      '1.5000',
      '100',
      'a "quote", a comma\nand a line',
      '0x0a',
    ],
    [
      '9999-12-31',
      '2024-12-31 23:59:59.000',
      '2024-12-31 23:59:59.000001',
      '["a \\"b\\", c"]',
      '[-9223372036854775808]',
    ],
  ],
  [
    ['6', 'false', '1', '1', '2.2500', '0.30000000000000004', 'naïve 漢字 😀 NA', '0x22'],
    ['2024-02-29', '2024-03-10 02:30:00.500', '2024-03-10 02:30:00.500000', '["漢","😀"]', '[0,-1]'],
  ],
].map((halves) => halves.flat());

/** To be published, with the types of COLUMNS. */
export function tableAsNdjson(): string {
  const value = (cell: Cell, type: string) => (cell !== null && type.startsWith('array') ? cell : JSON.stringify(cell));
  return ROWS.map((row) => {
    const members = row.map((cell, i) => `"${COLUMNS[i]?.name}":${value(cell, COLUMNS[i]?.type ?? '')}`);
    return `{${members.join(',')}}\n`;
  }).join('');
}

/** What a client cannot tell apart, because its format or its reader does not. */
export type Alike = 'null and empty text are one to it' | 'decimals are doubles to it';

/** The cells that are not as they should be, in words; none: all are. */
export function differences(found: readonly (readonly unknown[])[], alike: readonly Alike[]): readonly string[] {
  if (found.length !== ROWS.length) return [`${found.length} rows, expected ${ROWS.length}`];
  return ROWS.flatMap((row, r) =>
    row.flatMap((cell, c) => {
      const { name = '', type = '' } = COLUMNS[c] ?? {};
      const given = found[r]?.[c];
      if (isSame(type, given, cell, alike)) return [];
      return [`row ${r + 1}, ${name}: ${JSON.stringify(given)}, expected ${JSON.stringify(cell)}`];
    }),
  );
}

function isSame(type: string, found: unknown, expected: Cell, alike: readonly Alike[]): boolean {
  if (type === 'varchar' && alike.includes('null and empty text are one to it'))
    return (found ?? '') === (expected ?? '');
  // Of the other types no value is written as nothing.
  if (expected === null) return found === null || (found === '' && alike.includes('null and empty text are one to it'));
  if (typeof found !== 'string') return false;
  const rounded = type.startsWith('decimal') && alike.includes('decimals are doubles to it');
  return rounded ? Number(found) === Number(expected) : spelling(type, found) === spelling(type, expected);
}

function spelling(type: string, text: string): string {
  if (type === 'double') return String(Number(text));
  if (type === 'boolean') return text.toLowerCase();
  // A reader without dates has midnight.
  if (type === 'date') return text.replace(/[T ]00:00:00(\.0+)?Z?$/, '');
  if (type.startsWith('decimal')) return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
  if (type.startsWith('timestamp')) {
    const [, at = text, fraction = ''] =
      /^(\d+-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:\.(\d+))?(?: ?UTC|Z|\+00(?::?00)?)?$/.exec(text) ?? [];
    return `${at.replace('T', ' ')}.${fraction.padEnd(9, '0')}`;
  }
  // Digits stay as they are written.
  if (type.startsWith('array')) return text.replace(/"(?:[^"\\]|\\.)*"|\s+/g, (part) => (part[0] === '"' ? part : ''));
  return text;
}
