/**
 * The law of differences. Over random tables of all types, of several parts, with duplicates, nulls and NaN: the rows that the service tells
 * are those of the naive difference, in its order, on every page, with and without a key; filters and counts are those of these rows.
 * TEST_CASES=… makes a night of it, TEST_SEED=… repeats a run.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatColumnType } from '../../src/domain/column-type.ts';
import { readCsv } from './csv-reader.ts';
import { type HttpService, startHttpService } from './http-service.ts';
import { type DiffRow, naiveDiff, type TextRow } from './naive-diff.ts';
import { compareCells, type Row } from './naive-interpreter.ts';
import { Random, type RandomResult } from './random-results.ts';
import { randomTable } from './random-tables.ts';
import { StoredResults } from './stored-result.ts';

const CASES = Number(process.env.TEST_CASES ?? 5);
const SEED = Number(process.env.TEST_SEED ?? 1);
const ROWS_PER_PART = 1500;
const ROW_COUNTS = [0, 40, 2500, 4000];
const ALL = 'ignore_max_datapoints_per_request=true';

test(`${CASES} random differences have the rows that the naive one has (seed ${SEED})`, {
  timeout: 300_000 + CASES * 10_000,
}, async (t) => {
  const service = await startHttpService(t, { QRS_READ_THREADS: '4', QRS_HEAVY_THREADS: '4' });
  await using stored = await StoredResults.of(service);
  for (let number = 0; number < CASES; number += 1) {
    const random = new Random(SEED * 1_000_003 + number);
    const before = withoutPosition(randomTable(random, 1 + random.below(4), random.pick(ROW_COUNTS)));
    const after = { ...before, rows: changed(random, before) };
    const from = (await stored.put(before, ROWS_PER_PART, t.signal)).id;
    service.commandLine.now += 1000;
    const to = (await stored.put(after, ROWS_PER_PART, t.signal)).id;
    const about = `case ${number} of seed ${SEED}: ${describe(before)}, then ${after.rows.length} rows`;
    const texts = { from: await rowsOf(service, from, before), to: await rowsOf(service, to, after) };
    for (const key of keysOf(random, before)) {
      const compare = keyOrder({ ...before, rows: [...before.rows, ...after.rows] }, [...texts.from, ...texts.to], key);
      const expected = naiveDiff(texts.from, texts.to, key, compare);
      const names = key.map((place) => `"${before.columns[place]?.name.replaceAll('"', '""')}"`).join(',');
      const path = `/v1/execution/${to}/diff/${from}?key=${encodeURIComponent(names)}`;
      await check(service, path, expected, `${about}, key ${names}`);
    }
  }
});

async function check(service: HttpService, path: string, expected: readonly DiffRow[], about: string): Promise<void> {
  const whole = await diffRows(service, `${path}&format=csv&${ALL}`);
  assertSame(whole, expected, about);
  const limit = Math.max(1, Math.ceil(expected.length / 3));
  assertSame(await diffRows(service, `${path}&format=csv&limit=${limit}&${ALL}`), expected, `${about}, in pages`);
  const some = await diffRows(service, `${path}&format=csv&filters=change = 'removed'&${ALL}`);
  assertSame(
    some,
    expected.filter(({ change }) => change === 'removed'),
    `${about}, filtered`,
  );
  const { result } = (await service.json(`${path}&limit=0`)) as { readonly result: { readonly metadata: Metadata } };
  const counted = (wanted: DiffRow['change']) => expected.filter(({ change }) => change === wanted).length;
  const { added, removed, changed } = result.metadata.diff;
  const counts = [counted('added'), counted('removed'), counted('changed_to')];
  assert.deepEqual([added, removed, changed, result.metadata.total_row_count], [...counts, expected.length], about);
}

interface Metadata {
  readonly total_row_count: number;
  readonly diff: { readonly added: number; readonly removed: number; readonly changed: number };
}

/** Of all pages. */
async function diffRows(service: HttpService, path: string): Promise<readonly DiffRow[]> {
  const rows: DiffRow[] = [];
  let next: string | undefined = path;
  for (let pages = 0; next !== undefined; pages += 1) {
    assert(pages < 10, `page ${pages} leads to ${next}`);
    const response: Response = await service.get(next);
    const body = await response.text();
    assert.equal(response.status, 200, `${body} ${service.faults.join()}`);
    const [, ...lines] = readCsv(body).map((fields) => fields.map(textOf));
    rows.push(...lines.map(([change = '', ...row]) => ({ change: change as DiffRow['change'], row })));
    next = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1]?.replace(service.url, '');
  }
  return rows;
}

/** @param table tells null from an empty text in a lone column, where CSV has `""` for both: an empty line would be no row */
async function rowsOf(service: HttpService, id: string, { rows }: RandomResult): Promise<readonly TextRow[]> {
  const response = await service.get(`/v1/execution/${id}/results/csv?${ALL}`);
  const [, ...lines] = readCsv(await response.text());
  return lines.map((fields, position) =>
    fields.map((field, place) => (rows[position]?.[place] === null ? '' : textOf(field))),
  );
}

/** An empty text is not null, nor is it the text of two quotes. */
function textOf({ text, quoted }: { readonly text: string; readonly quoted: boolean }): string {
  return quoted ? `"${text}"` : text;
}

function assertSame(rows: readonly DiffRow[], expected: readonly DiffRow[], about: string): void {
  const at = expected.findIndex((row, i) => JSON.stringify(row) !== JSON.stringify(rows[i]));
  if (at >= 0)
    assert.fail(`${about}: row ${at} is ${JSON.stringify(rows[at])}, expected ${JSON.stringify(expected[at])}`);
  assert.equal(rows.length, expected.length, about);
}

/** Some rows are gone, some come twice, some have another value, some are elsewhere, and some are new. */
function changed(random: Random, { rows, columns }: RandomResult): readonly Row[] {
  const other = randomTableLike(random, rows);
  const kept = rows.flatMap((row) => {
    const roll = random.below(30);
    if (roll === 0) return [];
    if (roll === 1) return [row, row];
    if (roll > 3) return [row];
    const place = random.below(columns.length);
    const donor = random.pick(other);
    return [row.map((cell, index) => (index === place ? (donor[index] ?? null) : cell))];
  });
  const cut = random.below(kept.length + 1);
  return random.chance(50) ? [...kept.slice(cut), ...kept.slice(0, cut)] : kept;
}

function randomTableLike(random: Random, rows: readonly Row[]): readonly Row[] {
  return rows.length === 0 ? [[]] : Array.from({ length: 10 }, () => random.pick(rows));
}

/** None, and one or two columns whose types have an order. */
function keysOf(random: Random, { columns }: RandomResult): readonly (readonly number[])[] {
  const places = columns.flatMap(({ type }, place) => (type.kind === 'array' ? [] : [place]));
  if (places.length === 0) return [[]];
  const first = random.pick(places);
  return [[], [first], [...new Set([first, random.pick(places)])]];
}

function keyOrder(table: RandomResult, texts: readonly TextRow[], key: readonly number[]) {
  const cells = new Map(texts.map((row, position) => [JSON.stringify(row), table.rows[position]]));
  return (a: TextRow, b: TextRow): number => {
    const [left, right] = [cells.get(JSON.stringify(a)), cells.get(JSON.stringify(b))];
    for (const place of key) {
      const [one, other] = [left?.[place] ?? null, right?.[place] ?? null];
      if (one === null || other === null) {
        if (one !== other) return one === null ? 1 : -1;
      } else {
        // Intervals of the same length may be different values.
        const order =
          compareCells(one, other) || Buffer.compare(Buffer.from(a[place] ?? ''), Buffer.from(b[place] ?? ''));
        if (order !== 0) return order;
      }
    }
    return 0;
  };
}

/** So that rows may be equal. */
function withoutPosition({ columns, rows }: RandomResult): RandomResult {
  return { columns: columns.slice(0, -1), rows: rows.map((row) => row.slice(0, -1)) };
}

function describe(table: RandomResult): string {
  const columns = table.columns.map(({ name, type }) => `${JSON.stringify(name)} ${formatColumnType(type)}`);
  return `${table.rows.length} rows of ${columns.join(', ')}`;
}
