/**
 * Random filters and sorts over random results of all types, from text to rows, against the naive interpreter. Some hundreds
 * of cases by default; `QRS_CASES=20000 QRS_SEED=$(date +%s)` makes a night of it.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { formatColumnType } from '../../src/domain/column-type.ts';
import { DuckDb } from '../../src/duckdb/duckdb.ts';
import { Parameters } from '../../src/duckdb/parameters.ts';
import { formatFilter, formatSort } from '../../src/expression/format.ts';
import { DEFAULT_EXPRESSION_LIMITS } from '../../src/expression/limits.ts';
import { parseFilter } from '../../src/expression/parse-filter.ts';
import { parseSort } from '../../src/expression/parse-sort.ts';
import { bindFilter } from '../../src/results/bind-filter.ts';
import { bindSort } from '../../src/results/bind-sort.ts';
import { compilePredicate } from '../../src/results/compile-predicate.ts';
import { compileSortKeys } from '../../src/results/compile-sort.ts';
import { select } from './naive-interpreter.ts';
import { randomFilter, randomSort } from './random-expressions.ts';
import { Random, type RandomResult, randomResult, storeAs } from './random-results.ts';

const CASES = Number(process.env.QRS_CASES ?? 400);
const SEED = Number(process.env.QRS_SEED ?? 1);
const CASES_PER_RESULT = 50;
const SIGNAL = new AbortController().signal;

let directory: string;
let duckDb: DuckDb;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'qrs-filters-'));
  duckDb = await DuckDb.open({
    threads: 1,
    memoryLimit: '256MB',
    tempDirectory: directory,
    tempSizeMax: '64MB',
    allowedDirectories: [directory],
  });
});

after(async () => {
  await duckDb[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

test(`${CASES} random filters and sorts find the rows that the naive interpreter finds, in its order`, async () => {
  for (let number = 0; number * CASES_PER_RESULT < CASES; number += 1) {
    const random = new Random(SEED * 1_000_003 + number);
    const result = randomResult(random, 1 + random.below(12), 24);
    const path = join(directory, `${number}.parquet`);
    await duckDb.query({ text: storeAs(result, path), values: [] }, SIGNAL);
    for (let i = 0; i < Math.min(CASES_PER_RESULT, CASES - number * CASES_PER_RESULT); i += 1) {
      const filter = randomFilter(random, result);
      const sort = randomSort(random, result);
      const about = () =>
        `result ${number} of seed ${SEED}\nfilters: ${filter.text}\nsort_by: ${sort.text}\n${describe(result)}`;
      const found = await read(result, path, filter.text, sort.text).catch((error: unknown) => {
        throw new Error(about(), { cause: error });
      });
      const expected = select(result.rows, filter.means, sort.means);
      assert.deepEqual(found, expected, `${about()}\nfound ${found}, expected ${expected}\n${describe(result)}`);
    }
  }
});

async function read(result: RandomResult, path: string, filters: string, sortBy: string): Promise<readonly number[]> {
  const parameters = new Parameters();
  const parsed = parseFilter(filters, DEFAULT_EXPRESSION_LIMITS);
  assert.equal(formatFilter(parseFilter(formatFilter(parsed), DEFAULT_EXPRESSION_LIMITS)), formatFilter(parsed));
  const where = compilePredicate(bindFilter(parsed, result.columns), parameters);
  const keys = sortBy === '' ? [] : compileSort(result, sortBy);
  const order = [...keys, 'file_row_number'].join(', ');
  const text = `SELECT file_row_number FROM read_parquet('${path}', file_row_number = true) WHERE ${where} ORDER BY ${order}`;
  const rows = await duckDb.query({ text, values: parameters.values }, SIGNAL);
  return rows.map(([position]) => Number(position));
}

function compileSort(result: RandomResult, sortBy: string): readonly string[] {
  const parsed = parseSort(sortBy, DEFAULT_EXPRESSION_LIMITS);
  assert.equal(formatSort(parseSort(formatSort(parsed), DEFAULT_EXPRESSION_LIMITS)), formatSort(parsed));
  return compileSortKeys(bindSort(parsed, result.columns));
}

function describe(result: RandomResult): string {
  const columns = result.columns.map(({ name, type }) => `${JSON.stringify(name)} ${formatColumnType(type)}`);
  const rows = result.rows.map((row, position) => `${position}: ${JSON.stringify(row, plain)}`);
  return [...columns, ...rows].join('\n');
}

function plain(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' || typeof value === 'number' ? String(value) : value;
}
