/**
 * Other servers of tables beside ours, on the same rows: ROAPI (Arrow in memory) and Datasette (SQLite, with the indexes of `lookups`). They
 * are taken from a Python environment below the benchmarks' data:
 * `python3 -m venv bench/.data/venv && bench/.data/venv/bin/pip install roapi==0.12.7 datasette`. What is not there is skipped, and the run
 * says so.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { basename, join } from 'node:path';
import { medianPair, print, report } from './measure.ts';
import { indexedSqliteFile } from './rivals/start.ts';
import { DATA, publishedRows, sourceFile, startService } from './service.ts';

const ROWS = Number(process.env.BENCH_ROWS ?? 3_000_000);
const RUNS = 15;
const STARTS_MILLIS_MAX = 120_000;
const COLUMNS = ['user_name', 'amount_usd'] as const;

interface Asked {
  readonly what: string;
  readonly runs: number;
  readonly ours: (run: number) => Readonly<Record<string, string>>;
  readonly roapi: (run: number) => Readonly<Record<string, string>>;
  readonly datasette: (run: number) => Readonly<Record<string, string>>;
}

/** No divisor of the rows of a row group. */
const place = (run: number) => (run * 199_999 + 12_345) % (ROWS - 25_000);
const user = (run: number) => `user_${(run * 977 + 1) % 100_000}`;

const ASKED: readonly Asked[] = [
  ...[100, 25_000].map((limit) => ({
    what: `${limit} rows anywhere`,
    runs: RUNS,
    ours: (run: number) => ({ limit: String(limit), offset: String(place(run)) }),
    roapi: (run: number) => ({ limit: String(limit), offset: String(place(run)) }),
    // By the row's key, which is the best that it can do.
    datasette: (run: number) => ({ _size: String(limit), _next: String(place(run)) }),
  })),
  {
    what: 'user_name = … (30 rows)',
    runs: 2 * RUNS,
    ours: (run) => ({ limit: '100', filters: `user_name = '${user(run)}'` }),
    roapi: (run) => ({ limit: '100', 'filter[user_name]': `'${user(run)}'` }),
    datasette: (run) => ({ _size: '100', user_name__exact: user(run) }),
  },
  {
    what: 'a filter, sorted by another column, first 100',
    runs: RUNS,
    ours: (run) => ({ limit: '100', filters: `gas_used > ${500_000 + run}`, sort_by: 'amount_usd desc' }),
    roapi: (run) => ({ limit: '100', 'filter[gas_used]gt': String(500_000 + run), sort: '-amount_usd' }),
    datasette: (run) => ({ _size: '100', gas_used__gt: String(500_000 + run), _sort_desc: 'amount_usd' }),
  },
];

const execution = await publishedRows(ROWS);
print(`a result of ${ROWS} rows × 10 columns`);
await beside('roapi', 'ROAPI', async (port) => {
  const source = await sourceFile(ROWS);
  return { arguments: ['--table', `rows=${source}`, '--addr-http', `127.0.0.1:${port}`], path: '/api/tables/rows' };
});
await beside('datasette', 'Datasette', async (port) => {
  const file = await indexedSqliteFile(ROWS, COLUMNS);
  const settings = [
    'max_returned_rows=25000',
    'sql_time_limit_ms=60000',
    'facet_time_limit_ms=1',
    'suggest_facets=off',
  ];
  const options = settings.flatMap((setting) => ['--setting', ...setting.split('=')]);
  return {
    arguments: ['serve', file, '--port', String(port), ...options],
    path: `/${basename(file, '.sqlite')}/rows.json`,
    always: { _shape: 'objects', _nocount: '1', _nofacet: '1' },
  };
});

interface Started {
  readonly arguments: readonly string[];
  readonly path: string;
  readonly always?: Readonly<Record<string, string>>;
}

async function beside(
  command: 'roapi' | 'datasette',
  name: string,
  start: (port: number) => Promise<Started>,
): Promise<void> {
  const program = join(DATA, 'venv', 'bin', command);
  if (!existsSync(program)) {
    print(`  ${name} was skipped: there is no ${program}`);
    return;
  }
  const port = await freePort();
  const { arguments: given, path, always } = await start(port);
  const child = spawn(program, given, { stdio: 'ignore' });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  try {
    const theirs = `http://127.0.0.1:${port}${path}`;
    const query = (one: Readonly<Record<string, string>>) => new URLSearchParams({ ...always, ...one });
    await answers(`${theirs}?${query(ASKED[0]?.[command](0) ?? {})}`);
    await using service = await startService({ QRS_INDEX_USES: '1' });
    const ours = `${service.url}/v1/execution/${execution}/results`;
    const ask = (one: Readonly<Record<string, string>>) => get(`${ours}?${new URLSearchParams(one)}`, service.key);
    await prepare(ask);
    for (const asked of ASKED) {
      const [millis, other] = await medianPair(
        asked.runs,
        (run) => ask(asked.ours(run)),
        (run) => get(`${theirs}?${query(asked[command](run))}`, ''),
      );
      report(`${asked.what} / ${name}`, millis / other, '< 1', `${millis.toFixed(2)} ms / ${other.toFixed(2)} ms`);
    }
  } finally {
    child.kill('SIGKILL');
    await exited;
  }
}

/** All that is made on demand has been made. */
async function prepare(ask: (one: Readonly<Record<string, string>>) => Promise<Response>): Promise<void> {
  for (const offset of ['0', '1']) await ask({ limit: '1', offset });
  for (const column of [...COLUMNS, 'gas_used']) {
    // A row more each time, since a page that is asked for again comes from memory; seldom, since searching takes the builder's cores.
    for (let limit = 1; limit <= 90; limit += 1) {
      const response = await ask({ limit: String(limit), sort_by: column });
      if (response.headers.get('server-timing')?.includes('desc="index') === true) break;
      if (limit === 90) throw new Error(`there is no index of ${column}`);
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}

async function get(url: string, key: string): Promise<Response> {
  const headers = { accept: 'application/json', 'accept-encoding': 'identity' };
  const response = await fetch(url, { headers: { ...headers, ...(key !== '' && { 'x-service-api-key': key }) } });
  const body = await response.text();
  if (response.status !== 200) throw new Error(`${url}: status ${response.status} ${body.slice(0, 300)}`);
  return response;
}

async function answers(url: string): Promise<void> {
  const until = performance.now() + STARTS_MILLIS_MAX;
  for (;;) {
    const status = await fetch(url).then(
      async (response) => {
        await response.arrayBuffer();
        return response.status;
      },
      () => undefined,
    );
    if (status === 200) return;
    if (performance.now() > until) throw new Error(`${url} answers ${status ?? 'nothing'}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('there is no free port');
  return address.port;
}
