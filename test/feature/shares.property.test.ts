/**
 * The law of shares. Over random tables of all types, in several parts: what a share of some columns and rows answers is what a key is answered that asks
 * for these, whatever is asked of the share besides, in every text format, on every page; and its counts are of these rows alone.
 * TEST_CASES=… makes a night of it, TEST_SEED=… repeats a run.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type HttpService, startHttpService } from './http-service.ts';
import { annWrites } from './http-writer.ts';
import { select } from './naive-interpreter.ts';
import { randomFilter, randomSort } from './random-expressions.ts';
import { Random, type RandomResult } from './random-results.ts';
import { randomTable } from './random-tables.ts';
import { StoredResults } from './stored-result.ts';

const CASES = Number(process.env.TEST_CASES ?? 6);
const SEED = Number(process.env.TEST_SEED ?? 1);
const ROWS_PER_PART = 1500;
const ROW_COUNTS = [0, 40, 2500, 4000];
const ALL = ['ignore_max_datapoints_per_request', 'true'] as const;

test(`${CASES} random shares answer as a key is answered that asks for what they show (seed ${SEED})`, {
  timeout: 300_000 + CASES * 10_000,
}, async (t) => {
  const service = await startHttpService(t, { QRS_READ_THREADS: '4', QRS_HEAVY_THREADS: '4' });
  await using stored = await StoredResults.of(service);
  const { send } = await annWrites(service);
  for (let number = 0; number < CASES; number += 1) {
    const random = new Random(SEED * 1_000_003 + number);
    const table = randomTable(random, 2 + random.below(4), random.pick(ROW_COUNTS));
    const { id } = await stored.put(table, ROWS_PER_PART, t.signal);
    const places = shownPlaces(random, table);
    const columns = places.map((place) => table.columns[place]?.name ?? '');
    let fixed = randomFilter(random, table);
    // A filter of a share is stored, and then no text in it may hold NUL.
    while (fixed.text.includes('\0')) fixed = randomFilter(random, table);
    const about = `case ${number} of seed ${SEED}: ${columns.join()} where ${fixed.text}`;
    const made = await send('POST', `/v1/execution/${id}/share`, { body: { columns, filters: fixed.text } });
    assert.equal(made.status, 201, `${about}: ${made.text}`);
    const shared = new URL(String(made.json.url)).pathname;

    const kept = select(table.rows, fixed.means, []).map((position) => table.rows[position] ?? []);
    const shown: RandomResult = {
      columns: places.flatMap((place) => table.columns[place] ?? []),
      rows: kept.map((row) => places.map((place) => row[place] ?? null)),
    };
    const { total_row_count, column_names } = await metadataOf(service, shared);
    assert.deepEqual([total_row_count, column_names], [kept.length, columns], about);

    for (let request = 0; request < 4; request += 1) {
      const format = random.pick(['csv', 'ndjson', 'json']);
      const filter = random.chance(60) ? randomFilter(random, shown).text : undefined;
      const sort = random.chance(50) ? randomSort(random, shown).text : undefined;
      const wanted = random.chance(50) ? shownPlaces(random, shown).map((place) => columns[place] ?? '') : columns;
      const rest = [ALL, ['format', format] as const, ...(sort === undefined ? [] : [['sort_by', sort] as const])];
      const names = ['columns', wanted.map(quotedName).join()] as const;
      const both = filter === undefined ? fixed.text : `(${fixed.text}) and (${filter})`;
      const byKey = await rowsOf(
        service,
        `/v1/execution/${id}/results`,
        [...rest, names, ['filters', both]],
        service.key,
      );
      const ofShare = [...rest, names, ...(filter === undefined ? [] : [['filters', filter] as const])];
      const limit = ['limit', String(Math.ceil(kept.length / 3) + 1)] as const;
      const asked = `${about}, then ${JSON.stringify(ofShare)}`;
      assert.deepEqual(await rowsOf(service, shared, ofShare, ''), byKey, asked);
      assert.deepEqual(await rowsOf(service, shared, [...ofShare, limit], ''), byKey, `${asked}, in pages`);
    }
  }
});

interface Metadata {
  readonly total_row_count: number;
  readonly column_names: readonly string[];
}

async function metadataOf(service: HttpService, path: string): Promise<Metadata> {
  const response = await service.get(`${path}?limit=0`, { key: '' });
  assert.equal(
    response.status,
    200,
    `${await response.clone().text()} ${service.faults.map((f) => (f as { error: Error }).error?.stack ?? f).join()}`,
  );
  const { result } = (await response.json()) as { readonly result: { readonly metadata: Metadata } };
  return result.metadata;
}

/** The rows of all pages, each as it is written. */
async function rowsOf(
  service: HttpService,
  path: string,
  parameters: readonly (readonly [string, string])[],
  key: string,
): Promise<readonly string[]> {
  const rows: string[] = [];
  let next: string | undefined = `${path}?${new URLSearchParams(parameters.map(([name, value]) => [name, value]))}`;
  for (let pages = 0; next !== undefined; pages += 1) {
    assert(pages < 10, `page ${pages} leads to ${next}`);
    const response: Response = await service.get(next, { key });
    const body = await response.text();
    assert.equal(response.status, 200, `${next}: ${body} ${service.faults.join()}`);
    const type = response.headers.get('content-type') ?? '';
    if (type.startsWith('application/json')) rows.push(...jsonRows(body));
    else rows.push(...body.split('\n').slice(type.startsWith('text/csv') ? 1 : 0, -1));
    next = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1]?.replace(service.url, '');
  }
  return rows;
}

/** The text of the rows, which stand before everything else in `result`: numbers are not read. */
function jsonRows(body: string): readonly string[] {
  const rows = /"rows":\[(.*)\],"metadata":/s.exec(body)?.[1];
  assert(rows !== undefined, body.slice(0, 200));
  return rows === '' ? [] : rows.split('},{"').map((row) => row.replace(/^\{"|\}$/g, ''));
}

function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** At least one, each once, in any order. */
function shownPlaces(random: Random, { columns }: RandomResult): readonly number[] {
  const places = columns.map((_, place) => place).sort(() => (random.chance(50) ? -1 : 1));
  return places.slice(0, 1 + random.below(places.length));
}
