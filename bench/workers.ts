/**
 * What another worker gives: the same page again, and small pages from anywhere, asked of one process and of two. The machine has as many
 * cores as it has, and the client needs some of them, so the figure that travels is computing time for each request: if that stays, N cores
 * answer N times as many.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { load } from './load.ts';
import { report } from './measure.ts';
import { DATA_DIR, publishedRows, type Service, startService } from './service.ts';

const ROWS = 1_000_000;
const WORKERS = 2;
const TURNS = 3;
const CONNECTIONS = 16;
/** In V8's view a worker's code is warm only after some hundred thousand hot pages. */
const WARM_UP_MILLIS = 4000;

interface Figures {
  readonly micros: number;
  readonly perSecond: number;
}

type Asked = Pick<Parameters<typeof load>[0], 'path' | 'offsetStep' | 'offsetModulo'>;

const execution = await publishedRows(ROWS);
const results = `/v1/execution/${execution}/results`;
await using one = await startService({ QRS_WORKERS: '1' });
await using several = await startService({ QRS_WORKERS: String(WORKERS) });
await compare('a hot page of 7 KB', { path: `${results}?limit=25` });
await rowFilesBuilt(one);
// Steps through all parts of the result, so that no page is in memory already.
const anywhere = { offsetStep: 7919 * 100, offsetModulo: ROWS - 100 };
await compare('100 rows anywhere', { path: `${results}?limit=100&offset=OFFSET`, ...anywhere });

async function compare(what: string, asked: Asked): Promise<void> {
  const ones: Figures[] = [];
  const severals: Figures[] = [];
  for (let turn = 0; turn < TURNS; turn += 1) {
    ones.push(await measure(one, asked, turn));
    severals.push(await measure(several, asked, turn));
  }
  const [alone, together] = [median(ones), median(severals)];
  report(
    `computing time of ${what}, ${WORKERS} workers / 1`,
    together.micros / alone.micros,
    '≤ 1.1',
    `${together.micros.toFixed(1)} µs / ${alone.micros.toFixed(1)} µs`,
  );
  report(
    `its requests/s, ${WORKERS} workers / 1, the client on the same cores`,
    together.perSecond / alone.perSecond,
    `≤ ${WORKERS}`,
    `${together.perSecond.toFixed(0)} / ${alone.perSecond.toFixed(0)}`,
  );
}

async function measure({ url, key }: Service, asked: Asked, turn: number): Promise<Figures> {
  const common = { url, headers: { 'x-service-api-key': key }, connections: CONNECTIONS, ...asked };
  await load({ ...common, firstOffset: turn * 1000 + 500, millis: WARM_UP_MILLIS });
  const before = await computing(url);
  const { requests, perSecond } = await load({ ...common, firstOffset: turn * 1000, warmUpMillis: 0 });
  return { micros: ((await computing(url)) - before) / requests, perSecond };
}

/** They are asked for by the second page, and built once for all processes: from then on pages are read from them. */
async function rowFilesBuilt({ url, key }: Service): Promise<void> {
  const headers = { 'x-service-api-key': key };
  const isBuilt = () =>
    readdirSync(join(DATA_DIR, 'derived')).some((name) => name.startsWith(execution) && name.endsWith('.rows'));
  for (let page = 0; !isBuilt(); page += 1) {
    await (await fetch(`${url}${results}?limit=10&offset=${page}`, { headers })).text();
    await wait(500);
  }
}

/** Of all processes of the service, in microseconds. */
async function computing(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return 1e6 * Number(/^process_cpu_seconds_total (\S+)$/m.exec(text)?.[1]);
}

function median(figures: readonly Figures[]): Figures {
  const middle = figures.toSorted((a, b) => a.micros - b.micros)[Math.floor(figures.length / 2)];
  if (middle === undefined) throw new Error('nothing was measured');
  return middle;
}
