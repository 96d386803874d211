/**
 * The law of the oracle for every way to answer. Random filters, searches and sorts over tables of several parts and many row groups have
 * the rows that the naive interpreter finds, in its order, each once. This holds whichever way they are found: by a search,
 * while indexes are being built, by indexes, by indexes and row files, by views, after indexes were damaged, and while they are
 * removed. A page that ends at the datapoint limit ends at the same row every way. TEST_CASES=… makes a night of it,
 * TEST_SEED=… repeats a run.
 */
import assert from 'node:assert/strict';
import { open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { formatColumnType } from '../../src/domain/column-type.ts';
import type { Observation } from '../../src/observation/observation.ts';
import { keyFormOf } from '../../src/results/derived/indexes/ordered-key.ts';
import { sleep } from '../real-time.ts';
import { readCsv } from './csv-reader.ts';
import { rowsText } from './exact-json.ts';
import { type HttpService, startHttpService } from './http-service.ts';
import { type Condition, type SortBy, select } from './naive-interpreter.ts';
import { searchRows } from './naive-search.ts';
import { randomFilter, randomSearch, randomSort, type Typed } from './random-expressions.ts';
import { Random, type RandomResult } from './random-results.ts';
import { randomTable } from './random-tables.ts';
import { StoredResults } from './stored-result.ts';

const TABLES = Number(process.env.TEST_CASES ?? 3);
const SEED = Number(process.env.TEST_SEED ?? 1);
const CASES_PER_TABLE = 25;
const ROWS_PER_PART = 5000;
const ROW_COUNTS = [3000, 6500, 13_000];
/** A table of this many rows is read directly, a longer one through views. */
const DIRECT_ROWS = 6500;
const ALL = 'ignore_max_datapoints_per_request=true';
const DATAPOINTS_MAX = 12;

interface Case {
  readonly filter: Typed<Condition>;
  /** Empty: nothing is searched for. */
  readonly search: string;
  readonly sort: Typed<readonly SortBy[]>;
  readonly offset: number;
  readonly limit: number;
  readonly format: 'json' | 'ndjson' | 'csv';
  readonly columns: readonly string[];
  /** The page ends at the datapoint limit. */
  readonly isLimited: boolean;
}

/** A table that is served, and all its rows as they are written in answers. */
interface Served {
  readonly service: HttpService;
  readonly id: string;
  readonly table: RandomResult;
  /** Of each row, as CSV shows them. */
  readonly fields: readonly (readonly string[])[];
  /** By format and columns. */
  readonly lines: Map<string, readonly string[]>;
  /** How many rows the page of a limited case had at its first read. */
  readonly rowCounts: Map<Case, number>;
}

for (const rowFiles of ['off', '0']) {
  test(`whichever way rows are found, they are those of the naive interpreter (row files: ${rowFiles}, seed ${SEED})`, {
    timeout: 300_000 + TABLES * 60_000,
  }, async (t) => {
    const ways = new Map<string, number>();
    const service = await startHttpService(t, {
      QRS_PAGE_CACHE: '0',
      QRS_INDEX_USES: '1',
      QRS_INDEX_ROWS: '0',
      QRS_ROW_FILES: rowFiles,
      QRS_DIRECT_ROWS: String(DIRECT_ROWS),
      QRS_MAX_DATAPOINTS: String(DATAPOINTS_MAX),
      QRS_READ_THREADS: '4',
    });
    await using stored = await StoredResults.of(service);
    for (let number = 0; number < TABLES; number += 1) {
      const random = new Random(SEED * 1_000_003 + number);
      const table = randomTable(random, 1 + random.below(6), ROW_COUNTS[number % ROW_COUNTS.length] ?? 0);
      const { id } = await stored.put(table, ROWS_PER_PART, t.signal);
      const fields = await fieldsOf(service, id);
      const cases = Array.from({ length: CASES_PER_TABLE }, () => randomCase(random, table, fields));
      const served = { service, id, table, fields, lines: new Map(), rowCounts: new Map() };
      const about = `table ${number} of seed ${SEED}: ${describe(table)}`;
      const check = async (step: string) => {
        for (const asked of cases) countWay(ways, step, await checkCase(served, asked, `${step}, ${about}`));
      };
      // The first request for a column starts the building of its index.
      await check('while indexes are built');
      await makeIndexes(served);
      await check('by indexes');
      await damageIndexes(service);
      await check('after damage');
      await makeIndexes(served);
      await Promise.all([check('while indexes are removed'), removeIndexes(service)]);
    }
    t.diagnostic(JSON.stringify(Object.fromEntries(ways)));
    assert.deepEqual(observed(service, 'index_failed'), []);
    assert(observed(service, 'index_damaged').length > 0);
    // It would be no law of indexes if indexes answered nothing.
    const found = ways.get('by indexes index') ?? 0;
    assert(found > 0.3 * TABLES * CASES_PER_TABLE, `${found} answers by indexes`);
  });
}

/** @returns the way in which the rows were found */
async function checkCase(served: Served, asked: Case, about: string): Promise<string> {
  const { service, id, table, fields } = served;
  const { filter, search, sort, offset, limit, format, columns, isLimited } = asked;
  const query = new URLSearchParams({ filters: filter.text, search, sort_by: sort.text, format });
  query.set('offset', String(offset));
  query.set('limit', String(limit));
  query.set('columns', listOf(columns));
  const response = await service.get(`/v1/execution/${id}/results?${query}${isLimited ? '' : `&${ALL}`}`);
  const body = await response.text();
  const told = `${about}\n${JSON.stringify({ ...asked, filter: filter.text, sort: sort.text })}`;
  assert.equal(response.status, 200, `${body}\n${told}`);
  const types = table.columns.map(({ type }) => type);
  const isFound = search === '' ? undefined : searchRows(types, fields, search);
  const kept = select(table.rows, filter.means, sort.means).filter((position) => isFound?.[position] ?? true);
  const found = linesIn(body, format);
  const rowCount = isLimited ? limitedCount(served, asked, found.length) : limit;
  const wanted = kept.slice(offset, offset + Math.min(limit, rowCount));
  const known = await linesOf(served, asked);
  const way = /plan;dur=[^;,]+;desc="([^"]*)"/.exec(response.headers.get('server-timing') ?? '')?.[1] ?? 'none';
  const expected = wanted.map((position) => known[position]);
  const at = expected.findIndex((row, i) => row !== found[i]);
  const differs = `row ${at} of ${found.length} is ${found[at]} where ${expected[at]} of ${expected.length} is expected`;
  assert(at < 0 && found.length === expected.length, `${differs}, found by ${way}\n${told}`);
  return way.split(' ')[0]?.replace(':', '') ?? 'none';
}

/**
 * How many rows the page may have: by its cells, and as many as at its first read. Where cells are wide it has fewer, and at
 * least one.
 */
function limitedCount({ rowCounts }: Served, asked: Case, found: number): number {
  const byCells = Math.max(1, Math.floor(DATAPOINTS_MAX / asked.columns.length));
  const rowCount = rowCounts.get(asked) ?? Math.min(byCells, Math.max(1, found));
  rowCounts.set(asked, rowCount);
  return rowCount;
}

function countWay(ways: Map<string, number>, step: string, way: string): void {
  ways.set(`${step} ${way}`, (ways.get(`${step} ${way}`) ?? 0) + 1);
}

/** All rows of the table, as they are written in an answer of the same format and columns. */
async function linesOf({ service, id, lines }: Served, { format, columns }: Case): Promise<readonly string[]> {
  const name = `${format} ${columns.join()}`;
  const known = lines.get(name);
  if (known !== undefined) return known;
  const query = new URLSearchParams({ format, columns: listOf(columns) });
  const response = await service.get(`/v1/execution/${id}/results?${query}&${ALL}`);
  const read = linesIn(await response.text(), format);
  lines.set(name, read);
  return read;
}

async function fieldsOf(service: HttpService, id: string): Promise<Served['fields']> {
  const response = await service.get(`/v1/execution/${id}/results/csv?${ALL}`);
  const [, ...lines] = readCsv(await response.text());
  return lines.map((line) => line.map(({ text }) => text));
}

function linesIn(body: string, format: Case['format']): readonly string[] {
  if (format === 'ndjson') return body.split('\n').slice(0, -1);
  if (format === 'csv')
    return readCsv(body)
      .slice(1)
      .map((line) => JSON.stringify(line));
  const text = rowsText(body);
  return text === '' ? [] : text.split(/(?<=\}),(?=\{")/);
}

/** After this every column that can have an index has one. */
async function makeIndexes({ service, id, table }: Served): Promise<void> {
  const names = table.columns.flatMap(({ name, type }) => (keyFormOf(type) === undefined ? [] : [name]));
  const there = async () => (await filesOf(service)).filter((file) => file.includes(`${id}.`)).length;
  while ((await there()) < names.length) {
    for (const name of names)
      await service.get(`/v1/execution/${id}/results?limit=1&sort_by=${encodeURIComponent(listOf([name]))}`);
    await sleep(5, new AbortController().signal);
  }
}

/** Changes one byte of every index. */
async function damageIndexes(service: HttpService): Promise<void> {
  for (const path of await filesOf(service)) {
    await using file = await open(path, 'r+');
    const { size } = await file.stat();
    const [at, byte] = [Math.floor(size / 3), Buffer.alloc(1)];
    await file.read(byte, 0, 1, at);
    await file.write(Buffer.of((byte[0] ?? 0) ^ 0x55), 0, 1, at);
  }
}

async function removeIndexes(service: HttpService): Promise<void> {
  for (const path of await filesOf(service)) await rm(path, { force: true });
}

/** The index files that exist. */
async function filesOf({ commandLine }: HttpService): Promise<readonly string[]> {
  const directory = join(commandLine.dataDir, 'derived');
  return (await readdir(directory)).filter((name) => name.endsWith('.index')).map((name) => join(directory, name));
}

function observed<K extends Observation['kind']>(service: HttpService, kind: K) {
  return service.observed.filter(
    (observation): observation is Extract<Observation, { kind: K }> => observation.kind === kind,
  );
}

function randomCase(random: Random, table: RandomResult, fields: Served['fields']): Case {
  const names = table.columns.map(({ name }) => name);
  const kind = random.pick(['filter', 'filter', 'sort', 'both']);
  return {
    filter: kind === 'sort' ? { text: '', means: { kind: 'and', operands: [] } } : filterOf(random, table),
    search: random.chance(20) ? randomSearch(random, fields) : '',
    sort: kind === 'filter' ? { text: '', means: [] } : randomSort(random, table),
    offset: random.chance(30) ? random.below(3000) : 0,
    limit: random.pick([1, 10, 100, 1000]),
    format: random.pick(['json', 'json', 'ndjson', 'csv']),
    // Always with the position as the last column, so that no two rows are equal.
    columns: random.chance(50) ? names : [...names.filter((name) => name !== 'row' && random.chance(40)), 'row'],
    isLimited: random.chance(60),
  };
}

/** Often among few rows that indexes find, where the rest of the filter has to be checked; that rest may hold for all rows. */
function filterOf(random: Random, table: RandomResult): Typed<Condition> {
  const [column, first] = [table.columns.length - 1, random.below(table.rows.length)];
  const bound = (position: number) => ({ cell: { kind: 'exact', units: BigInt(position), scale: 0 } }) as const;
  const near = { kind: 'between', operand: { column }, low: bound(first), high: bound(first + 200) } as const;
  const always = { kind: 'compare', operator: '=', left: { column }, right: { column } } as const;
  if (random.chance(60)) return randomFilter(random, table);
  const filter = random.chance(50) ? randomFilter(random, table) : { text: '"row" = "row"', means: always };
  return {
    text: `"row" between ${first} and ${first + 200} and (${filter.text})`,
    means: { kind: 'and', operands: [near, filter.means] },
  };
}

function listOf(names: readonly string[]): string {
  return names.map((name) => `"${name.replaceAll('"', '""')}"`).join(',');
}

function describe(table: RandomResult): string {
  const columns = table.columns.map(({ name, type }) => `${JSON.stringify(name)} ${formatColumnType(type)}`);
  return `${table.rows.length} rows of ${columns.join(', ')}`;
}
