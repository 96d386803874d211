/**
 * Walking a result in small pages by the address of the next one, as clients do, against one COPY of the same rows to a JSON file: in stored
 * order, whose row files are there, and sorted, whose view is made while the walk goes on. A walk waits for each page
 * before it asks for the next, so its floor is the same client at a server that only sends. The client keeps one connection and does nothing
 * with the bytes: `fetch` alone takes as long as the service, and would itself be measured.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { countBytes } from './count-bytes.ts';
import { print, quantile, report } from './measure.ts';
import {
  DATA,
  DATA_DIR,
  duckDb,
  type Listening,
  publishedRows,
  startBareServer,
  startService,
  storedRowsSql,
} from './service.ts';

const ROWS = Number(process.env.BENCH_ROWS ?? 1_000_000);
const TURNS = 5;
/** Of a walk each, until V8 has compiled most of what a page takes. Without them the half of a walk is the compiling, which a service does once. */
const WARMING_TURNS = 9;
const WALKS = [
  { limit: 1000, pages: 300, target: '≤ 1' },
  { limit: 100, pages: 1000, target: '≤ 4' },
] as const;
/** Each is walked once, over a view that is made for it. */
const SORTS = [
  { column: 'fee', stored: 'c9' },
  { column: 'amount_usd', stored: 'c2' },
  { column: 'gas_used', stored: 'c6' },
  { column: 'score', stored: 'c7' },
] as const;

rmSync(join(DATA_DIR, 'derived'), { recursive: true, force: true });
const execution = await publishedRows(ROWS);
const connection = await duckDb(2);
await using service = await startService();
const headers = { 'x-service-api-key': service.key, 'accept-encoding': 'identity' };
const agent = new Agent({ keepAlive: true });
// They are built once; what is measured is walking.
await walk(1000, 20, '', 1);
await built();
const cold = await walk(100, 1000, '', 2);
print(`  the first 1,000 pages of 100 after the start of the service: ${(cold / 1000).toFixed(2)} ms each`);
for (const { limit, pages, target } of WALKS) {
  for (let turn = 0; turn < WARMING_TURNS; turn += 1) await walk(limit, pages, '', 10 * turn + 3);
  const rows = limit * pages;
  const copying = () => copyMillis(`LIMIT ${rows}`);
  // Each walk has other pages than those before, which finished pages would answer.
  const [millis, copy] = await medianMillis(TURNS, (turn) => walk(limit, pages, '', 10 * turn), copying);
  report(
    `walk in pages of ${limit} / COPY of the same rows`,
    millis / copy,
    target,
    `${millis.toFixed(0)} ms / ${copy.toFixed(0)} ms, ${pages} pages`,
  );
  await using bare = await startBare(limit);
  const bareWalk = async () => {
    const from = performance.now();
    for (let page = 0; page < pages; page += 1) await countBytes(`${bare.url}/plain`, { agent, headers });
    return performance.now() - from;
  };
  const [floor, beside] = await medianMillis(TURNS, bareWalk, copying);
  const compressed = (turn: number) => walk(limit, pages, '', 10 * turn + 5, { ...headers, 'accept-encoding': 'gzip' });
  for (let turn = 0; turn < WARMING_TURNS; turn += 1) await compressed(TURNS + 1 + turn);
  const [packed, plain] = await medianMillis(TURNS, compressed, (turn) => walk(limit, pages, '', 10 * turn + 7));
  print(
    `  accepted as gzip / as it is: ${(packed / plain).toFixed(2)} × (${packed.toFixed(0)} ms / ${plain.toFixed(0)} ms)`,
  );
  print(
    `  the same bytes from a bare server: ${(floor / beside).toFixed(2)} × (${floor.toFixed(0)} ms / ${beside.toFixed(0)} ms)`,
  );
}
const [sorted, sortedCopy] = await medianMillis(
  SORTS.length - 1,
  (turn) => walk(1000, ROWS / 1000, `&sort_by=${SORTS[turn]?.column}%20desc`, 0),
  (turn) => copyMillis(`ORDER BY ${SORTS[turn]?.stored} DESC`),
);
report(
  'walk of all, sorted, in pages of 1,000 / one sorted COPY',
  sorted / sortedCopy,
  '≤ 2',
  `${sorted.toFixed(0)} ms / ${sortedCopy.toFixed(0)} ms`,
);
connection.closeSync();

async function walk(limit: number, pages: number, more: string, start: number, sent = headers): Promise<number> {
  const from = performance.now();
  let next: string | undefined =
    `${service.url}/v1/execution/${execution}/results?limit=${limit}&offset=${start}${more}`;
  for (let page = 0; page < pages; page += 1) {
    if (next === undefined) throw new Error(`the walk ended after ${page} of ${pages} pages`);
    const { link } = await countBytes(next, { agent, headers: sent });
    next = /^<([^>]+)>; rel="next"$/.exec(String(link ?? ''))?.[1];
  }
  return performance.now() - from;
}

/** Medians of what both say that they took, in turns, after one that does not count. */
async function medianMillis(
  turns: number,
  a: (turn: number) => Promise<number>,
  b: (turn: number) => Promise<number>,
): Promise<readonly [number, number]> {
  const times: [number[], number[]] = [[], []];
  for (let turn = 0; turn <= turns; turn += 1) {
    const [ofA, ofB] = [await a(turn), await b(turn)];
    if (turn === 0) continue;
    times[0].push(ofA);
    times[1].push(ofB);
  }
  return [quantile(times[0], 0.5), quantile(times[1], 0.5)];
}

/** A server that only sends the first page. */
async function startBare(limit: number): Promise<Listening> {
  const path = join(DATA, `page-${limit}`);
  const page = await fetch(`${service.url}/v1/execution/${execution}/results?limit=${limit}`, { headers });
  writeFileSync(path, Buffer.from(await page.arrayBuffer()));
  return await startBareServer(path);
}

/** To a new file, which is removed at once: the system would write it to the disk while a walk is measured. */
async function copyMillis(of: string): Promise<number> {
  const path = join(DATA, 'walked.json');
  rmSync(path, { force: true });
  const start = performance.now();
  await connection.run(`COPY (${storedRowsSql(execution)} ${of}) TO '${path}' (FORMAT json)`);
  const millis = performance.now() - start;
  rmSync(path);
  return millis;
}

async function built(): Promise<void> {
  for (;;) {
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    if (/qrs_row_files_total\{outcome="(built|failed)"\} [1-9]/.test(metrics)) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
