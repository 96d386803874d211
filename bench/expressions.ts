/**
 * First pages of filtered and sorted results over HTTP, uncached, against the same SQL given to DuckDB directly over the same
 * stored parts. DuckDB only finds the rows; what encoding them costs is a page of as many rows in stored order over HTTP.
 */
import { medianMillis, medianPair, print, report } from './measure.ts';
import { duckDb, publishedRows, startService, storedRowsSql } from './service.ts';

const ROWS = 10_000_000;

interface Question {
  readonly what: string;
  readonly limit: number;
  readonly runs: number;
  /** Each run asks for something else, so that no answer can come from a cache. */
  readonly filters?: (run: number) => string;
  readonly sortBy?: (run: number) => string;
}

const QUESTIONS: readonly Question[] = [
  { what: 'a number above all but 1 in 1,000', limit: 1000, runs: 11, filters: (run) => `gas_used > ${999_000 + run}` },
  {
    what: 'a text with wildcards, 1 row in 7,500',
    limit: 1000,
    runs: 5,
    filters: (run) => `token_pair like '%pair ${1000 + run}'`,
  },
  { what: 'three of four rows, full page', limit: 25_000, runs: 11, filters: (run) => `gas_used >= ${250_000 + run}` },
  {
    what: 'sorted by a double',
    limit: 100,
    runs: 5,
    sortBy: (run) => `amount_usd desc, ${run % 2 === 0 ? 'id' : 'gas_used'}`,
  },
  {
    what: 'sorted by a text, full page',
    limit: 25_000,
    runs: 3,
    sortBy: (run) => `tx_hash ${run % 2 === 0 ? 'asc' : 'desc'}`,
  },
  {
    what: 'one row in ten, sorted',
    limit: 1000,
    runs: 5,
    filters: (run) => `gas_used < ${100_000 + run} and success = true`,
    sortBy: () => 'score desc',
  },
];

const execution = await publishedRows(ROWS);
await using service = await startService();
const connection = await duckDb(2);

async function overHttp(parameters: Readonly<Record<string, string>>): Promise<void> {
  const response = await fetch(`${service.url}/v1/execution/${execution}/results?${new URLSearchParams(parameters)}`, {
    headers: { 'x-service-api-key': service.key, 'accept-encoding': 'identity' },
  });
  await response.arrayBuffer();
  if (response.status !== 200) throw new Error(`status ${response.status}`);
}

async function asked({ filters, sortBy }: Question, limit: number, run: number): Promise<void> {
  await overHttp({
    limit: String(limit),
    ...(filters !== undefined && { filters: filters(run) }),
    ...(sortBy !== undefined && { sort_by: sortBy(run) }),
  });
}

async function directly({ filters, sortBy }: Question, limit: number, run: number): Promise<void> {
  const where = filters === undefined ? '' : ` WHERE ${filters(run)}`;
  const keys = sortBy === undefined ? '' : ` ORDER BY ${sortBy(run)} NULLS LAST`;
  await connection.run(`SELECT * FROM (${storedRowsSql(execution)})${where}${keys} LIMIT ${limit}`);
}

print(`first pages of a result of ${ROWS} rows × 10 columns / (SQL + encoding)`);
for (const question of QUESTIONS) {
  const { what, limit, runs } = question;
  // One row less each time: a page of a run before would come from the cache.
  const [http, sql] = await medianPair(
    runs,
    (run) => asked(question, limit - run, run),
    (run) => directly(question, limit - run, run),
  );
  const page = await medianMillis(runs, (run) =>
    overHttp({ limit: String(limit - run), offset: String(run * limit + 1) }),
  );
  report(
    `${what}, ${limit} rows`,
    http / (sql + page),
    '≤ 1.3',
    `${http.toFixed(1)} ms / ${sql.toFixed(1)} + ${page.toFixed(1)} ms`,
  );
}
connection.closeSync();
