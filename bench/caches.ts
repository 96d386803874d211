/**
 * What each cache of ARCHITECTURE.md's table gives: the same request with it and past it, in turns on one running service. None of them
 * can be switched off. A request passes a cache by being one that the cache does not serve: it has a header or an address that is never
 * kept, it asks for a page that nobody has asked for, or something has just been committed. A cache that gives less than a tenth is not
 * worth its code.
 */
import { rmSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { countBytes } from './count-bytes.ts';
import { load } from './load.ts';
import { print, quantile, report } from './measure.ts';
import { DATA_DIR, publishedRows, startService } from './service.ts';

interface Ask {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Timed {
  /** Not timed. */
  readonly before?: (run: number) => Promise<void> | void;
  readonly ask: (run: number) => Promise<void>;
}

const ROWS = Number(process.env.BENCH_ROWS ?? 5_000_000);
const PAGE_ROWS = 100;
const LARGER_PAGE_ROWS = 1000;
/** No divisor of the rows of a row group, so that pages come from everywhere and none twice. */
const STEP = 10_007;
const TURNS = 15;
const TURN = { warmUpMillis: 100, millis: 500 } as const;
/** Until V8 has compiled what a request takes. */
const SETTLING = { warmUpMillis: 2000, millis: 100 } as const;
const RUNS = 21;
const CLIENTS = 64;
const TARGET = '≥ 1.1';
const SORT = 'sort_by=amount_usd%20desc';

rmSync(join(DATA_DIR, 'derived'), { recursive: true, force: true });
const execution = await publishedRows(ROWS);
await using service = await startService();
const agent = new Agent({ keepAlive: true });
const results = `/v1/execution/${execution}/results`;
const page = `${results}?limit=${PAGE_ROWS}`;
const key = { 'x-service-api-key': service.key, 'accept-encoding': 'identity' };
/** The response cache keeps no answer to a request that brings an id. */
const keyAndId = { ...key, 'x-request-id': 'bench' };
const gzipAndId = { ...keyAndId, 'accept-encoding': 'gzip' };
let pagesAsked = 0;

await rowFiles();
print(`what each cache gives, on pages of ${PAGE_ROWS} rows of a result of ${ROWS} rows × 10 columns`);
await compareRates('response cache', { path: page, headers: key }, { path: page, headers: keyAndId });
await compareTimes('finished pages', { ask: () => get(page) }, { ask: () => get(newPage()) });
await nextPages();
await compressedPages();
await catalogCache();
await pagesBeingRead();
await segmentIndexes();
await views();
agent.destroy();

/** What is not in a cache is read from row files, which are built anew. */
async function rowFiles(): Promise<void> {
  for (const path of [newPage(), newPage()]) await get(path);
  for (;;) {
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    if (/^qrs_row_files_total\{outcome="built"\} [1-9]/m.test(metrics)) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** Pages backwards are as many reads, and none is the next of another. */
async function nextPages(): Promise<void> {
  const pages = 200;
  const walk = async (start: number, step: number) => {
    for (let place = 0; place < pages; place += 1) {
      await get(`${results}?limit=${PAGE_ROWS}&offset=${start + place * step}`);
    }
  };
  const far = pages * PAGE_ROWS;
  // Until V8 has compiled what a page takes, on pages of other rows.
  for (let turn = 0; turn < 45; turn += 1) await walk(turn + 2, PAGE_ROWS);
  const forwards = { ask: (run: number) => walk(2 * run * far + 1, PAGE_ROWS) };
  const backwards = { ask: (run: number) => walk(2 * (run + 1) * far + 1, -PAGE_ROWS) };
  await compareTimes(`next pages, a walk of ${pages}`, forwards, backwards);
}

async function compressedPages(): Promise<void> {
  const paths = Array.from({ length: RUNS + 1 }, () => newPage(LARGER_PAGE_ROWS));
  // Larger pages are kept when they are asked for again.
  for (const path of [...paths, ...paths]) await get(path);
  const [first = ''] = paths;
  const within = { ask: () => get(first, gzipAndId) };
  await within.ask();
  const without = { ask: (run: number) => get(paths[run] ?? '', gzipAndId) };
  await compareTimes(`compressed pages, of ${LARGER_PAGE_ROWS} rows`, within, without);
}

async function catalogCache(): Promise<void> {
  using catalog = new DatabaseSync(join(DATA_DIR, 'catalog.sqlite'), { timeout: 1000 });
  // As if a run had been published or a key revoked.
  const before = () => catalog.exec('update changes set count = count + 1');
  const ask = () => get(page);
  await compareTimes('catalog cache', { ask }, { before, ask });
}

async function pagesBeingRead(): Promise<void> {
  const together = async (paths: readonly string[]) => void (await Promise.all(paths.map((path) => get(path))));
  const same = () => new Array<string>(CLIENTS).fill(newPage());
  const other = () => Array.from({ length: CLIENTS }, () => newPage());
  const what = `pages being read, ${CLIENTS} clients at once`;
  await compareTimes(what, { ask: () => together(same()) }, { ask: () => together(other()) }, 7);
}

async function segmentIndexes(): Promise<void> {
  const all = `${results}?ignore_max_datapoints_per_request=true&columns=`;
  const columns = ['user_name', 'amount_usd', 'block_time', 'tx_hash', 'score', 'fee'];
  const tail = async (path: string) => {
    const response = await fetch(service.url + path, { headers: { ...key, range: 'bytes=-1000' } });
    const { byteLength } = await response.arrayBuffer();
    if (byteLength !== 1000) throw new Error(`${byteLength} bytes, status ${response.status}`);
  };
  const known = (run: number) => tail(`${all}id,${columns[run]}`);
  // The same columns in another order are another answer.
  const unknown = (run: number) => tail(`${all}${columns[run]},id`);
  const what = 'segment indexes, the end of a large answer';
  await compareTimes(what, { before: known, ask: known }, { ask: unknown }, columns.length - 1);
}

async function views(): Promise<void> {
  await get(`${page}&${SORT}&offset=${ROWS / 2}`);
  const ofView = (run: number) => get(`${page}&${SORT}&offset=${run * STEP + PAGE_ROWS}`);
  // A first page is searched for; each of another length is another page.
  const searched = (run: number) => get(`${results}?limit=${PAGE_ROWS + run}&${SORT}`);
  await compareTimes('views, a page of a sorted walk', { ask: ofView }, { ask: searched });
}

async function compareRates(what: string, within: Ask, without: Ask): Promise<void> {
  const rates: [number[], number[]] = [[], []];
  for (const ask of [within, without]) await load({ url: service.url, ...ask, ...SETTLING });
  for (let turn = 0; turn < TURNS; turn += 1) {
    for (const [index, ask] of [within, without].entries()) {
      rates[index]?.push((await load({ url: service.url, ...ask, ...TURN })).perSecond);
    }
  }
  const [quick, slow] = [quantile(rates[0], 0.5), quantile(rates[1], 0.5)];
  const figures = `${quick.toFixed(0)}/s / ${slow.toFixed(0)}/s`;
  report(`requests/s with / without the ${what}`, ratioOf(rates[0], rates[1]), TARGET, figures);
}

async function compareTimes(what: string, within: Timed, without: Timed, runs = RUNS): Promise<void> {
  const millis: [number[], number[]] = [[], []];
  for (let run = 0; run <= runs; run += 1) {
    for (const [index, { before, ask }] of [within, without].entries()) {
      await before?.(run);
      const start = performance.now();
      await ask(run);
      if (run > 0) millis[index]?.push(performance.now() - start);
    }
  }
  const [quick, slow] = [quantile(millis[0], 0.5), quantile(millis[1], 0.5)];
  const figures = `${slow.toFixed(1)} ms / ${quick.toFixed(1)} ms`;
  report(`time without / with ${what}`, ratioOf(millis[1], millis[0]), TARGET, figures);
}

/** The median of the ratios of neighbours: what slows the machine for a while slows both of them. */
function ratioOf(some: readonly number[], others: readonly number[]): number {
  return quantile(
    some.map((figure, index) => figure / (others[index] ?? Number.NaN)),
    0.5,
  );
}

async function get(path: string, headers: Readonly<Record<string, string>> = keyAndId): Promise<void> {
  await countBytes(service.url + path, { agent, headers });
}

/** A page that nobody has asked for. */
function newPage(rows = PAGE_ROWS): string {
  pagesAsked += 1;
  return `${results}?limit=${rows}&offset=${(pagesAsked * STEP) % (ROWS - rows)}`;
}
