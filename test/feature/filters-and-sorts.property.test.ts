/**
 * Random filters and sorts over random results of all types, through HTTP, against the naive interpreter: with paging, with
 * projection, in JSON and in CSV, read directly and from materialised views. Some hundreds of cases by default;
 * `npm run test:nightly` makes a night of it, and TEST_SEED=… repeats one.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatColumnType } from '../../src/domain/column-type.ts';
import { readCsv } from './csv-reader.ts';
import { parseExact, rowsText } from './exact-json.ts';
import { type HttpService, startHttpService } from './http-service.ts';
import { type Condition, type SortBy, select } from './naive-interpreter.ts';
import { randomFilter, randomSort, type Typed } from './random-expressions.ts';
import { Random, type RandomResult, randomResult } from './random-results.ts';
import { StoredResults } from './stored-result.ts';

const CASES = Number(process.env.TEST_CASES ?? 300);
const SEED = Number(process.env.TEST_SEED ?? 1);
const CASES_PER_RESULT = 25;

/** Results of at most so many rows are read directly, longer ones through views. */
const DIRECT_ROWS = 24;
const LONG_ROWS = 40;
const ROWS_PER_PART = 15;
/** Pages of twelve columns end after eight rows. */
const DATAPOINTS_MAX = 100;
/** No case has more rows. */
const PAGES_MAX = LONG_ROWS + 1;

const EVERYTHING: Condition = { kind: 'and', operands: [] };

interface Case {
  readonly filter: Typed<Condition>;
  readonly sort: Typed<readonly SortBy[]>;
  /** Indexes of the columns asked for, in their order. */
  readonly projection: readonly number[] | undefined;
  readonly limit: number | undefined;
  readonly offset: number;
  readonly lifted: boolean;
  readonly format: 'json' | 'csv';
}

test(`${CASES} random filters and sorts find the rows that the naive interpreter finds, in its order`, {
  timeout: 180_000 + CASES * 1000,
}, async (t) => {
  const service = await startHttpService(t, {
    QRS_DIRECT_ROWS: String(DIRECT_ROWS),
    QRS_MAX_DATAPOINTS: String(DATAPOINTS_MAX),
    // So small that views are evicted all the time.
    QRS_VIEW_CACHE: '100KB',
  });
  await using stored = await StoredResults.of(service);
  for (let number = 0; number * CASES_PER_RESULT < CASES; number += 1) {
    const random = new Random(SEED * 1_000_003 + number);
    const rowCount = random.pick([DIRECT_ROWS, LONG_ROWS]);
    const result = numbered(randomResult(random, 1 + random.below(11), rowCount));
    const { id } = await stored.put(result, ROWS_PER_PART, t.signal);
    const path = `/v1/execution/${id}/results`;
    const whole = {
      json: await readPages(service, path, 'json', ALL),
      csv: await readPages(service, path, 'csv', ALL),
    };
    for (let i = 0; i < Math.min(CASES_PER_RESULT, CASES - number * CASES_PER_RESULT); i += 1) {
      const asked = randomCase(random, result);
      const about = () => `result ${number} of seed ${SEED}\n${JSON.stringify(asked, plain, 1)}\n${describe(result)}`;
      const positions = select(result.rows, asked.filter.means, asked.sort.means).slice(asked.offset);
      const projection = asked.projection ?? result.columns.map((_, index) => index);
      const expected = positions.map((position) => projected(whole[asked.format][position] ?? [], projection));
      const found = await readPages(service, path, asked.format, parametersOf(asked, result)).catch(
        (error: unknown) => {
          throw new Error(about(), { cause: error });
        },
      );
      assert.deepEqual(found, asked.format === 'csv' ? expected.map(csvLine) : expected, about());
    }
  }
});

/** The last column is the row's position, so that no two rows are alike. */
function numbered(result: RandomResult): RandomResult {
  return {
    columns: [...result.columns, { name: 'row', type: { kind: 'integer' } }],
    rows: result.rows.map((row, position) => [...row, { kind: 'exact', units: BigInt(position), scale: 0 }]),
  };
}

function randomCase(random: Random, result: RandomResult): Case {
  const kind = random.pick(['filter', 'sort', 'both', 'both']);
  const format = random.pick(['json', 'json', 'json', 'csv'] as const);
  const lifted = random.chance(40);
  const limit = (format === 'csv' && !lifted) || random.chance(50) ? 1 + random.below(20) : undefined;
  return {
    filter: kind === 'sort' ? { text: '', means: EVERYTHING } : randomFilter(random, result),
    sort: kind === 'filter' ? { text: '', means: [] } : randomSort(random, result),
    projection: random.chance(50) ? randomProjection(random, result) : undefined,
    limit,
    offset: random.chance(30) ? random.below(10) : 0,
    lifted,
    format,
  };
}

function randomProjection(random: Random, result: RandomResult): readonly number[] {
  const left = result.columns.map((_, index) => index);
  const count = 1 + random.below(left.length);
  return Array.from({ length: count }, () => left.splice(random.below(left.length), 1)).flat();
}

const ALL = new URLSearchParams({ ignore_max_datapoints_per_request: 'true' });

function parametersOf(asked: Case, result: RandomResult): URLSearchParams {
  const parameters = new URLSearchParams(asked.lifted ? ALL : {});
  // Empty ones are as if absent.
  parameters.set('filters', asked.filter.text);
  parameters.set('sort_by', asked.sort.text);
  const names = asked.projection?.map((index) => `"${result.columns[index]?.name.replaceAll('"', '""')}"`);
  if (names !== undefined) parameters.set('columns', names.join(','));
  if (asked.limit !== undefined) parameters.set('limit', String(asked.limit));
  if (asked.offset > 0) parameters.set('offset', String(asked.offset));
  return parameters;
}

/** A cell as JSON with its name before it, or as a CSV field: quotes tell text from null. */
type Cells = readonly string[];

/** The rows of all pages, from the first to the one that names no next. */
async function readPages(
  service: HttpService,
  path: string,
  format: 'json' | 'csv',
  parameters: URLSearchParams,
): Promise<readonly Cells[]> {
  const rows: Cells[] = [];
  let next: string | null = `${path}${format === 'csv' ? '/csv' : ''}?${parameters}`;
  for (let pages = 0; next !== null; pages += 1) {
    assert(pages < PAGES_MAX, `page ${pages} leads to ${next}`);
    const response: Response = await service.get(next);
    const body = await response.text();
    assert.equal(response.status, 200, body);
    const page = format === 'csv' ? csvRows(body) : jsonRows(body);
    const limit = parameters.get('limit');
    assert(limit === null || page.length <= Number(limit));
    assert(pages === 0 || page.length > 0, 'a page that was announced is empty');
    rows.push(...page);
    next = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1]?.replace(service.url, '') ?? null;
    if (format === 'json') assert.equal(JSON.parse(body).next_uri?.replace(service.url, '') ?? null, next);
  }
  return rows;
}

function jsonRows(body: string): readonly Cells[] {
  const rows = parseExact(`[${rowsText(body)}]`) as readonly Readonly<Record<string, unknown>>[];
  return rows.map((row) => Object.entries(row).map(([name, value]) => `${name}: ${JSON.stringify(value)}`));
}

function csvRows(body: string): readonly Cells[] {
  const [, ...lines] = readCsv(body);
  return lines.map((line) => line.map(({ text, quoted }) => (quoted ? `"${text}"` : text)));
}

function projected(row: Cells, projection: readonly number[]): Cells {
  return projection.map((index) => row[index] ?? 'no such cell');
}

/** The one field of a line is quoted where the line would be empty (contract §6). */
function csvLine(row: Cells): Cells {
  return row.length === 1 && row[0] === '' ? ['""'] : row;
}

function describe(result: RandomResult): string {
  const columns = result.columns.map(({ name, type }) => `${JSON.stringify(name)} ${formatColumnType(type)}`);
  const rows = result.rows.map((row, position) => `${position}: ${JSON.stringify(row, plain)}`);
  return [...columns, ...rows].join('\n');
}

function plain(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' || typeof value === 'number' ? String(value) : value;
}
