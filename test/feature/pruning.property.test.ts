/**
 * The law of pruning. Whatever in a Parquet file lets a reader skip row groups (minimum and maximum, bloom filters,
 * dictionaries), a filter or a sort finds the rows that a scan without skipping finds. Over every type, several parts of
 * several row groups, and files with each aid and without it, among them files from before ours had no bloom filters.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { formatColumnType } from '../../src/domain/column-type.ts';
import type { DuckDb } from '../../src/duckdb/duckdb.ts';
import { driverValue } from '../../src/duckdb/run-statement.ts';
import { storedColumn } from '../../src/duckdb/storage-type.ts';
import { parseFilter } from '../../src/expression/parse-filter.ts';
import { parseSort } from '../../src/expression/parse-sort.ts';
import { compilePositions } from '../../src/results/compile/view.ts';
import { bindFilter } from '../../src/results/plan/bind-filter.ts';
import { bindSort } from '../../src/results/plan/bind-sort.ts';
import { DEFAULT_EXPRESSION_LIMITS } from '../expression-text.ts';
import { openFolderDuckDb } from './folder-duckdb.ts';
import type { Cell } from './naive-interpreter.ts';
import { randomFilter, randomLiteral, randomSort } from './random-expressions.ts';
import { Random, type RandomResult, randomCell, SCALAR_TYPES, storeAs } from './random-results.ts';

const CASES = Number(process.env.TEST_CASES ?? 150);
const SEED = Number(process.env.TEST_SEED ?? 1);
const TABLES = 2;
/** How often every comparison of every type is tried. */
const ROUNDS = Math.ceil(CASES / 150);
const ROW_GROUP_ROWS = 2048;
/** Rows of each table's parts: full row groups, one that is not full, and one of a single row. */
const PART_ROWS = [2 * ROW_GROUP_ROWS, ROW_GROUP_ROWS + 5, 1] as const;
const ROW_GROUPS = 5;
const ALL_ROWS = 10_000;

const NO_DICTIONARY = 'DICTIONARY_SIZE_LIMIT 0';
/** How DuckDB writes the same rows: with everything that lets it skip, and without one or the other. */
const AIDS = ['WRITE_BLOOM_FILTER true', 'WRITE_BLOOM_FILTER false', NO_DICTIONARY, 'PARQUET_VERSION V2'] as const;

const LIMITS = DEFAULT_EXPRESSION_LIMITS;
/** `c` is the column, each `?` a literal of its type. */
const COMPARISONS = [
  'c = ?',
  'c != ?',
  'c < ?',
  'c <= ?',
  'c > ?',
  'c >= ?',
  'not c != ?',
  'not c = ?',
  'c in (?)',
  'c in (?, ?)',
  'c in (?, ?, ?, ?, ?, ?, ?, ?)',
  'c not in (?)',
  'c between ? and ?',
] as const;

interface Table {
  readonly seed: number;
  /** Its columns, and the few rows that are repeated in it. */
  readonly distinct: RandomResult;
  /** Paths of the parts, for each of `AIDS`. */
  readonly written: readonly (readonly string[])[];
}

let directory = '';
let pruning: DuckDb;
let instance: DuckDBInstance;
let unprunable: DuckDBConnection;
const tables: Table[] = [];

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'qrs-pruning-'));
  pruning = await openFolderDuckDb(directory, 2);
  instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  unprunable = await instance.connect();
  await unprunable.run(`SET TimeZone = 'UTC'`);
  for (let i = 0; i < TABLES; i += 1) tables.push(await writeTable(SEED * 1_000_003 + i));
  // After this filters stay above the scan, and DuckDB concludes nothing from what it knows of a column.
  const names = await unprunable.run(`SELECT name FROM duckdb_optimizers() WHERE name <> 'unused_columns'`);
  await unprunable.run(`SET disabled_optimizers = '${(await names.getRows()).join(',')}'`);
});

after(async () => {
  unprunable.closeSync();
  instance.closeSync();
  await pruning[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

/** Few different values in a row group, so that it can be skipped, and gets a dictionary and a bloom filter. */
async function writeTable(seed: number): Promise<Table> {
  const random = new Random(seed);
  const kinds = 1 + random.below(4);
  const columns = SCALAR_TYPES.map((type, index) => ({ name: `column ${index}`, type }));
  const rows = Array.from({ length: kinds * ROW_GROUPS }, () =>
    columns.map(({ type }) => (random.chance(8) ? null : edged(random, randomCell(random, type)))),
  );
  const distinct = { columns, rows };
  const source = join(directory, `distinct-${seed}.parquet`);
  await unprunable.run(storeAs(distinct, source));
  const written: string[][] = [];
  for (const [aids, options] of AIDS.entries()) {
    const paths: string[] = [];
    let firstGroup = 0;
    for (const [part, rowCount] of PART_ROWS.entries()) {
      const path = join(directory, `${seed}-${aids}-${part}.parquet`);
      const at = `(i // ${ROW_GROUP_ROWS} + ${firstGroup}) * ${kinds} + i % ${kinds}`;
      const stored = columns.map(({ type }, index) => storedAs(type.kind, storedColumn(index))).join(', ');
      await unprunable.run(
        `COPY (SELECT ${stored} FROM range(${rowCount}) r(i) JOIN read_parquet('${source}', file_row_number = true) ON file_row_number = ${at} ORDER BY i)
         TO '${path}' (FORMAT parquet, ROW_GROUP_SIZE ${ROW_GROUP_ROWS}, ${options})`,
      );
      paths.push(path);
      firstGroup += Math.ceil(rowCount / ROW_GROUP_ROWS);
    }
    written.push(paths);
  }
  return { seed, distinct, written };
}

/** A not-a-number has a sign, which is not part of its value. */
function storedAs(kind: string, column: string): string {
  const isFloat = kind === 'double' || kind === 'real';
  return isFloat ? `CASE WHEN isnan(${column}) AND i % 5 < 3 THEN -${column} ELSE ${column} END AS ${column}` : column;
}

/** Statistics hold the first bytes of a text: texts with many equal first bytes, and large ones after them. */
function edged(random: Random, cell: NonNullable<Cell>): NonNullable<Cell> {
  const before = random.pick(['', '', 'abcdefg', 'abcdefgh', '\u{10ffff}\u{10ffff}', 'ÿ'.repeat(8), 'a'.repeat(300)]);
  if (cell.kind === 'text') return { kind: 'text', text: `${before}${cell.text}` };
  if (cell.kind === 'bytes') return { kind: 'bytes', hex: `${Buffer.from(before).toString('hex')}${cell.hex}` };
  return cell;
}

interface Asked {
  readonly filters: string;
  readonly sortBy: string;
  readonly rowCountMax: number;
}

/** @returns how many rows were found */
async function assertPruningIsRight(random: Random, table: Table, asked: Asked): Promise<number> {
  const { columns } = table.distinct;
  const { filters, sortBy, rowCountMax } = asked;
  const aids = random.below(AIDS.length);
  const statement = compilePositions(
    table.written[aids] ?? [],
    {
      rows:
        filters === ''
          ? { kind: 'all' }
          : { kind: 'matching', predicate: bindFilter(parseFilter(filters, LIMITS), columns) },
      sortKeys: sortBy === '' ? [] : bindSort(parseSort(sortBy, LIMITS), columns),
    },
    { offset: 0, rowCountMax, cellBytesMax: undefined },
  );
  const prepared = await unprunable.prepare(statement.text);
  prepared.bind(statement.values.map(driverValue));
  const expected = (await (await prepared.run()).getRows()).map(positionOf);
  prepared.destroySync();
  const found = (await pruning.query(statement, new AbortController().signal)).map(positionOf);
  if (sortBy === '') for (const rows of [found, expected]) rows.sort();
  const types = columns.map(({ name, type }) => `${name} ${formatColumnType(type)}`).join(', ');
  assert.deepEqual(
    found,
    expected,
    `seed ${SEED}, table ${table.seed} of ${types}\n${AIDS[aids]}, ${JSON.stringify(asked)}`,
  );
  return found.length;
}

function positionOf([part, row]: readonly unknown[]): string {
  return `${part}:${row}`;
}

test('every comparison of every type finds what a scan finds that skips no row group', async () => {
  const random = new Random(SEED);
  for (const [column, type] of SCALAR_TYPES.entries()) {
    for (const comparison of COMPARISONS) {
      for (let round = 0; round < ROUNDS; round += 1) {
        const table = random.pick(tables);
        const literal = () => randomLiteral(random, type, table.distinct, column).text;
        const filters = comparison.replace('c', `"column ${column}"`).replaceAll('?', literal);
        await assertPruningIsRight(random, table, { filters, sortBy: '', rowCountMax: ALL_ROWS });
      }
    }
  }
});

test('random filters and sorts find what a scan finds that skips no row group', async () => {
  let matching = 0;
  for (let number = 0; number < CASES; number += 1) {
    const random = new Random(SEED * 7_000_003 + number);
    const table = random.pick(tables);
    const filters = random.chance(85) ? randomFilter(random, table.distinct, random.below(3)).text : '';
    const sortBy = random.chance(50) ? randomSort(random, table.distinct).text : '';
    const rowCountMax = sortBy === '' ? ALL_ROWS : random.pick([1, 100, ALL_ROWS]);
    if ((await assertPruningIsRight(random, table, { filters, sortBy, rowCountMax })) > 0) matching += 1;
  }
  // A law over answers without rows would say little.
  assert(matching > CASES / 4, `only ${matching} of ${CASES} cases found any row`);
});
