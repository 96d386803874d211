/**
 * Tables of 500 and of 5,000 columns with the same number of rows: publishing, and pages. Growth is time for each column against the
 * narrower table; about 1 means that the time grows no faster than the columns. And what a small page waits beside wide ones.
 */
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from './load.ts';
import { medianMillis, print, report } from './measure.ts';
import { DATA, duckDb, publishedRows, qrs, startService, wideCell } from './service.ts';

const ROWS = 100;
const COLUMNS = [500, 5000] as const;
const [narrow, wide] = COLUMNS;
const PAGES = [
  '',
  '?limit=20&format=ndjson',
  '/csv?limit=20',
  '?limit=20&format=parquet',
  '?limit=20&sort_by=col_1',
] as const;
const KINDS = ['csv', 'json', 'json, keys in changing order', 'parquet'] as const;
type Kind = (typeof KINDS)[number];

const connection = await duckDb(1);

async function fileOf(kind: Kind, columns: number): Promise<string> {
  const format = kind.replace(/,.*/, '');
  const path = join(DATA, `wide-${columns}.${format === 'json' ? 'ndjson' : format}`);
  const cells = Array.from({ length: columns }, (_, column) => wideCell(column)).join(', ');
  await connection.run(`COPY (SELECT ${cells} FROM range(${ROWS}) r(i)) TO '${path}' (FORMAT ${format})`);
  if (kind === 'json, keys in changing order') writeFileSync(path, turned(readFileSync(path, 'utf8')));
  return path;
}

/** Of each line, the members begin somewhere else. */
function turned(lines: string): string {
  const turn = (line: string, row: number) => {
    const members = Object.entries(JSON.parse(line));
    return JSON.stringify(Object.fromEntries([...members.slice(7 * row), ...members.slice(0, 7 * row)]));
  };
  return lines
    .trimEnd()
    .split('\n')
    .map((line, row) => `${turn(line, row)}\n`)
    .join('');
}

async function secondsOf(task: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await task();
  return (performance.now() - start) / 1000;
}

await publishedRows(1000);
mkdirSync(DATA, { recursive: true });
const startUp = await secondsOf(async () => await qrs(['publish', await fileOf('csv', 1), '--query', '1000']));
print(`publishing one column takes ${startUp.toFixed(2)} s, which is taken off below`);
const published = new Map<number, string>();
for (const kind of KINDS) {
  const seconds: number[] = [];
  for (const columns of COLUMNS) {
    const path = await fileOf(kind, columns);
    const took = await secondsOf(async () => published.set(columns, await qrs(['publish', path, '--query', '1000'])));
    const floor = await secondsOf(
      async () =>
        await connection.run(
          `COPY (FROM '${path}') TO '${join(DATA, 'floor.parquet')}' (FORMAT parquet, COMPRESSION zstd)`,
        ),
    );
    seconds.push(took - startUp);
    print(
      `  ${columns} columns of ${kind}: ${took.toFixed(1)} s, ${(statSync(path).size / 1e6).toFixed(1)} MB; ${(took / floor).toFixed(1)} × COPY`,
    );
  }
  const [few = 0, many = 0] = seconds;
  report(
    `publish ${wide} columns of ${kind}, a column, / ${narrow}`,
    (many * narrow) / (few * wide),
    '≤ 1.5',
    `${many.toFixed(1)} s / ${few.toFixed(2)} s`,
  );
}
await using service = await startService();
const headers = { 'x-service-api-key': service.key };

const pathOf = (columns: number, page: string) => `/v1/execution/${published.get(columns)}/results${page}`;

async function read(path: string, asked: Readonly<Record<string, string>> = headers): Promise<void> {
  const response = await fetch(`${service.url}${path}`, { headers: asked });
  const bytes = await response.arrayBuffer();
  if (response.status !== 200) throw new Error(`${response.status} ${Buffer.from(bytes).toString().slice(0, 200)}`);
}

for (const page of PAGES) {
  const separator = page.includes('?') ? '&' : '?';
  const millis: number[] = [];
  for (const columns of COLUMNS) {
    millis.push(await medianMillis(3, (run) => read(pathOf(columns, `${page}${separator}offset=${run}`))));
  }
  const [few = 0, many = 0] = millis;
  const what = page === '' ? 'a page as large as may be' : page;
  // Such a page has as many cells, however many columns.
  const share = page === '' ? 1 : narrow / wide;
  report(
    `${what}, ${wide} columns / ${narrow}`,
    (many * share) / few,
    '≤ 1.5',
    `${many.toFixed(0)} ms / ${few.toFixed(0)} ms`,
  );
}
const some = Array.from({ length: 200 }, (_, index) => `col_${(index * 17) % narrow}`).join(',');
const [few, many] = [await askSome(narrow), await askSome(wide)];
report(`200 columns of ${wide} / of ${narrow}`, many / few, '≤ 1.5', `${many.toFixed(0)} ms / ${few.toFixed(0)} ms`);

async function askSome(columns: number): Promise<number> {
  return await medianMillis(5, (run) => read(pathOf(columns, `?columns=${some}&limit=20&offset=${run}`)));
}

const small = {
  url: service.url,
  path: `/v1/execution/${await publishedRows(1000)}/results?limit=10&offset=OFFSET`,
  connections: 2,
  offsetStep: 7,
  offsetModulo: 900,
};
const idle = await load({ ...small, headers, firstOffset: 0 });
const stop = new AbortController();
const other = { 'x-service-api-key': await qrs(['keys', 'create', '--user', 'bench']) };
const wides = Array.from({ length: 4 }, async (_, reader) => {
  for (let run = 0; !stop.signal.aborted; run += 1)
    await read(pathOf(wide, `?limit=${10 + reader}&offset=${run % 80}`), other);
});
const beside = await load({ ...small, headers, firstOffset: 3 });
stop.abort();
await Promise.all(wides);
report(
  'p95 of small pages beside wide ones of another key / idle',
  beside.p95 / idle.p95,
  '≤ 3',
  `${beside.p95.toFixed(1)} ms / ${idle.p95.toFixed(1)} ms`,
);
connection.closeSync();
