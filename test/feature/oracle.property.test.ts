/**
 * The law of the oracle. Over tables of several parts and many row groups, whatever is filtered, searched for, sorted,
 * projected and skipped:
 * the first page, each further page, and the whole as JSON, NDJSON, CSV and Parquet have the rows that the naive interpreter
 * finds, in its order, each once. TEST_CASES=… makes a night of it, TEST_SEED=… repeats a run.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatColumnType } from '../../src/domain/column-type.ts';
import { isSpelling } from './cell-spelling.ts';
import { readCsv } from './csv-reader.ts';
import { type ExactValue, parseExact, rowsText } from './exact-json.ts';
import { type HttpService, startHttpService } from './http-service.ts';
import { type Condition, type SortBy, select } from './naive-interpreter.ts';
import { searchRows } from './naive-search.ts';
import { readParquet } from './parquet-reader.ts';
import { randomFilter, randomLongList, randomSearch, randomSort, type Typed } from './random-expressions.ts';
import { Random, type RandomResult } from './random-results.ts';
import { randomTable } from './random-tables.ts';
import { StoredResults } from './stored-result.ts';

const CASES = Number(process.env.TEST_CASES ?? 6);
const SEED = Number(process.env.TEST_SEED ?? 2);
const CASES_PER_TABLE = 3;

/** Row groups have 2,048 rows: a part has two and a little of a third. */
const ROWS_PER_PART = 5000;
/** A table of this many rows is read directly, a longer one through views. */
const DIRECT_ROWS = 6000;
const ROW_COUNTS = [DIRECT_ROWS, 13_000];
const EVERYTHING: Condition = { kind: 'and', operands: [] };

interface Case {
  readonly filter: Typed<Condition>;
  /** Empty: nothing is searched for. */
  readonly search: string;
  readonly sort: Typed<readonly SortBy[]>;
  readonly columns: readonly string[];
  readonly offset: number;
  /** About the number of pages that the rows are divided into. */
  readonly pages: number;
  readonly lifted: boolean;
}

test(`${CASES} random requests have the rows that the naive interpreter finds, on every page and in every format`, {
  timeout: 300_000 + CASES * 5000,
}, async (t) => {
  const service = await startHttpService(t, {
    QRS_DIRECT_ROWS: String(DIRECT_ROWS),
    // More threads than the machine may have cores: order must not depend on that.
    QRS_READ_THREADS: '4',
    QRS_HEAVY_THREADS: '4',
  });
  await using stored = await StoredResults.of(service);
  for (let number = 0; number * CASES_PER_TABLE < CASES; number += 1) {
    const random = new Random(SEED * 1_000_003 + number);
    const table = randomTable(random, 1 + random.below(5), random.pick(ROW_COUNTS));
    const { id } = await stored.put(table, ROWS_PER_PART, t.signal);
    const results = `/v1/execution/${id}/results`;
    await checkValues(service, results, table);
    const fields = await fieldsOf(service, results);
    for (let i = 0; i < Math.min(CASES_PER_TABLE, CASES - number * CASES_PER_TABLE); i += 1) {
      const asked = randomCase(random, table, fields);
      await checkCase(service, results, { ...table, fields }, asked).catch((error: unknown) => {
        const texts = { ...asked, filter: asked.filter.text, sort: asked.sort.text };
        const about = `request ${i} of table ${number} of seed ${SEED}: ${describe(table)}`;
        throw new Error(`${about}\n${JSON.stringify(texts, undefined, 1)}`, { cause: error });
      });
    }
  }
});

/** All rows, as they are stored, are the rows of the table. */
async function checkValues(service: HttpService, results: string, table: RandomResult): Promise<void> {
  const rows = parseExact(`[${(await ndjson(service, results, {})).join(',')}]`) as readonly Record<
    string,
    ExactValue
  >[];
  assert.equal(rows.length, table.rows.length);
  for (const [position, row] of rows.entries()) {
    for (const [i, { name, type }] of table.columns.entries()) {
      const [value, cell] = [row[`s${name}`], table.rows[position]?.[i] ?? null];
      const told = () => `${name} of row ${position}: ${JSON.stringify(value)} for ${JSON.stringify(cell, plain)}`;
      assert(isSpelling(value, cell, type), told());
    }
  }
}

async function checkCase(service: HttpService, results: string, table: ServedTable, asked: Case): Promise<void> {
  const columns = asked.columns.map((name) => `"${name.replaceAll('"', '""')}"`).join(',');
  const types = table.columns.map(({ type }) => type);
  const isFound = asked.search === '' ? undefined : searchRows(types, table.fields, asked.search);
  const selected = select(table.rows, asked.filter.means, asked.sort.means);
  const kept = selected.filter((position) => isFound?.[position] ?? true);
  const found = kept.slice(asked.offset);
  const wanted = {
    columns,
    filters: asked.filter.text,
    search: asked.search,
    sort_by: asked.sort.text,
    offset: String(asked.offset),
    ...(asked.lifted && ALL),
  };

  const limit = Math.max(1, Math.ceil(kept.length / asked.pages));
  const lines = await ndjson(service, results, { columns });
  const expected = found.map((position) => lines[position]);
  assertRows('pages', await walk(service, results, { ...wanted, limit: String(limit) }), expected);
  assertRows('JSON', await json(service, results, { ...wanted, ...ALL }), expected);
  assertRows('NDJSON', await ndjson(service, results, wanted), expected);

  const [, ...fields] = await csv(service, results, { columns });
  const [, ...csvLines] = await csv(service, results, wanted);
  assertRows(
    'CSV',
    csvLines,
    found.map((position) => fields[position]),
  );

  const cells = await parquet(service, results, { columns });
  assertRows(
    'Parquet',
    await parquet(service, results, wanted),
    found.map((position) => cells[position]),
  );
}

/** Reports the first row that differs: printing all differences of thousands of rows would take minutes. */
function assertRows(what: string, rows: readonly string[], expected: readonly (string | undefined)[]): void {
  const at = rows.findIndex((row, i) => row !== expected[i]);
  if (at >= 0) assert.fail(`${what}: row ${at} is ${rows[at]} where ${expected[at]} is expected`);
  assert.equal(rows.length, expected.length, what);
}

function randomCase(random: Random, table: RandomResult, fields: Fields): Case {
  const kind = random.pick(['filter', 'filter', 'sort', 'both', 'search', 'search']);
  const names = table.columns.map(({ name }) => name);
  const filter = random.chance(40) ? randomLongList(random, table) : randomFilter(random, table);
  return {
    filter: kind === 'sort' || kind === 'search' ? { text: '', means: EVERYTHING } : filter,
    search: kind === 'search' || random.chance(30) ? randomSearch(random, fields) : '',
    sort: kind === 'filter' ? { text: '', means: [] } : randomSort(random, table),
    // Always with the position, so that no two rows are equal.
    columns: random.chance(50) ? names : ['row', ...names.filter((name) => name !== 'row' && random.chance(40))],
    offset: random.chance(30) ? random.below(3000) : 0,
    pages: 1 + random.below(6),
    lifted: random.chance(30),
  };
}

/** Of each row, as CSV shows them. */
type Fields = readonly (readonly string[])[];

interface ServedTable extends RandomResult {
  readonly fields: Fields;
}

async function fieldsOf(service: HttpService, results: string): Promise<Fields> {
  const [, ...lines] = readCsv(await (await answer(service, pathOf(`${results}/csv`, ALL))).text());
  return lines.map((line) => line.map(({ text }) => text));
}

const ALL = { ignore_max_datapoints_per_request: 'true' };

type Parameters = Readonly<Record<string, string>>;

async function answer(service: HttpService, path: string): Promise<Response> {
  const response = await service.get(path);
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response;
}

function pathOf(results: string, parameters: Parameters): string {
  return `${results}?${new URLSearchParams(parameters)}`;
}

async function ndjson(service: HttpService, results: string, parameters: Parameters): Promise<readonly string[]> {
  const path = pathOf(results, { ...parameters, ...ALL, format: 'ndjson' });
  return (await (await answer(service, path)).text()).split('\n').slice(0, -1);
}

async function json(service: HttpService, results: string, parameters: Parameters): Promise<readonly string[]> {
  return jsonRows(await (await answer(service, pathOf(results, parameters))).text());
}

/** Each row as it is written. The last column is in every answer and is not text, and no text contains its name. */
function jsonRows(body: string): readonly string[] {
  const text = rowsText(body);
  return text === '' ? [] : text.split(/(?<=\}),(?=\{")/);
}

async function walk(service: HttpService, results: string, parameters: Parameters): Promise<readonly string[]> {
  const rows: string[] = [];
  let next: string | undefined = pathOf(results, parameters);
  for (let pages = 0; next !== undefined; pages += 1) {
    assert(pages < 100, `page ${pages} leads to ${next}`);
    const body = await (await answer(service, next)).text();
    const page = jsonRows(body);
    assert(pages === 0 || page.length > 0, 'a page that was announced is empty');
    rows.push(...page);
    next = (JSON.parse(body) as { next_uri?: string }).next_uri?.replace(service.url, '');
  }
  return rows;
}

/** The header comes first. Quotes tell text from null. */
async function csv(service: HttpService, results: string, parameters: Parameters): Promise<readonly string[]> {
  const text = await (await answer(service, pathOf(`${results}/csv`, { ...parameters, ...ALL }))).text();
  return readCsv(text).map((line) => line.map((field) => (field.quoted ? `"${field.text}"` : field.text)).join(','));
}

async function parquet(service: HttpService, results: string, parameters: Parameters): Promise<readonly string[]> {
  const response = await answer(service, pathOf(results, { ...parameters, ...ALL, format: 'parquet' }));
  const { rows } = await readParquet(new Uint8Array(await response.arrayBuffer()));
  return rows.map((row) => JSON.stringify(row));
}

function describe(table: RandomResult): string {
  const columns = table.columns.map(({ name, type }) => `${JSON.stringify(name)} ${formatColumnType(type)}`);
  return `${table.rows.length} rows of ${columns.join(', ')}`;
}

function plain(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' || typeof value === 'number' ? String(value) : value;
}
