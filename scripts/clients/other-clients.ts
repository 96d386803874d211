/** Clients that are there or are not: Go, R, and a browser, which reads from a page of another origin. */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type Attempt, type Found, firstLine, output, type Place } from './attempt.ts';
import { type Alike, COLUMNS } from './table.ts';

const CSV: readonly Alike[] = ['null and empty text are one to it'];
const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome'];
/** A page's own clock goes on at once while it has nothing to wait for. */
const PAGE_MILLIS = 20_000;

export async function otherClients(): Promise<readonly Attempt[]> {
  const noGo = (await firstLine('go', ['version'])) === undefined ? 'Go is not installed' : undefined;
  const noR = (await firstLine('Rscript', ['--version'])) === undefined ? 'R is not installed' : undefined;
  const go = async (place: Place, way: string): Promise<Found> =>
    JSON.parse(await output(place, 'go', ['run', join(import.meta.dirname, 'go/read.go'), way]));
  const r = async (place: Place): Promise<Found> =>
    JSON.parse(await output(place, 'Rscript', [join(import.meta.dirname, 'r/read.R')], { LC_ALL: 'C.UTF-8' }));
  return [
    { client: 'Go net/http', what: 'JSON, `UseNumber`', skip: noGo, run: (place) => go(place, 'json') },
    { client: 'Go net/http', what: 'CSV, `encoding/csv`', skip: noGo, alike: CSV, run: (place) => go(place, 'csv') },
    { client: 'R', what: '`read.csv(url(…))`, `colClasses = "character"`', skip: noR, alike: CSV, run: r },
    ...(await browserClients()),
  ];
}

async function browserClients(): Promise<readonly Attempt[]> {
  for (const browser of BROWSERS) {
    const version = /\d+[\d.]*/.exec((await firstLine(browser, ['--version'])) ?? '')?.[0];
    if (version === undefined) continue;
    const run = (way: string) => (place: Place) => inBrowser(place, { browser, version, way });
    return BROWSER_WAYS.map(({ what, way }) => ({ client: 'Chromium fetch', what, run: run(way) }));
  }
  const skip = 'Chromium is not installed';
  return BROWSER_WAYS.map(({ what }) => ({
    client: 'Chromium fetch',
    what,
    skip,
    run: () => Promise.reject(new Error(skip)),
  }));
}

const BROWSER_WAYS = [
  { way: 'json', what: 'JSON from a page of another origin, a reviver that keeps digits' },
  { way: 'plain', what: 'JSON from a page of another origin, `response.json()`, with `bigints=string`' },
  { way: 'ranges', what: 'NDJSON from a page of another origin, in two ranges (`If-Range`)' },
] as const;

async function inBrowser(
  place: Place,
  { browser, version, way }: { readonly browser: string; readonly version: string; readonly way: string },
): Promise<Found> {
  const page = await readFile(join(import.meta.dirname, 'page.html'));
  const server = createServer((_, response) => response.setHeader('content-type', 'text/html').end(page));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const names = COLUMNS.map(({ name }) => name);
    const told = { url: `${place.service.url}/v1/query/1/results`, key: place.service.key, names, way };
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/#${encodeURIComponent(JSON.stringify(told))}`;
    const flags = ['--headless', '--no-sandbox', '--disable-gpu', `--user-data-dir=${place.folder}/profile`];
    const dom = await output(place, browser, [...flags, `--virtual-time-budget=${PAGE_MILLIS}`, '--dump-dom', address]);
    const text = /<pre id="found">([^<]*)<\/pre>/.exec(dom)?.[1] ?? '';
    if (text === '') throw new Error('the page found nothing in time');
    const { rows, error } = JSON.parse(decodeURIComponent(text));
    if (error !== undefined) throw new Error(error);
    return { version, rows };
  } finally {
    server.close();
  }
}
