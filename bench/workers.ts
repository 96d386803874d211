/**
 * What another worker gives: the same page again, and small pages from anywhere, asked of one process and of two. The machine has as many
 * cores as it has, and the client needs some of them, so the figure that travels is computing time for each request: if that stays, N cores
 * answer N times as many. Where two processes compute at a time, each may take longer for the same work on this machine; a bare server in
 * two processes tells by how much.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { load } from './load.ts';
import { childrenOf, print, report } from './measure.ts';
import { DATA, DATA_DIR, type Listening, publishedRows, startListening, startService } from './service.ts';

const ROWS = 1_000_000;
const WORKERS = 2;
const TURNS = 3;
const CONNECTIONS = 16;
/** V8 compiles all of it only after some hundred thousand requests. */
const WARM_UP_MILLIS = 3000;
const MILLIS = 3000;
/** As the system counts them. */
const TICKS_A_SECOND = 100;

interface Figures {
  readonly micros: number;
  readonly perSecond: number;
}

type Asked = Pick<Parameters<typeof load>[0], 'path' | 'headers' | 'offsetStep' | 'offsetModulo'>;

const execution = await publishedRows(ROWS);
const results = `/v1/execution/${execution}/results`;
await using one = await startService({ QRS_WORKERS: '1' });
await using several = await startService({ QRS_WORKERS: String(WORKERS) });
const headers = { 'x-service-api-key': one.key };
const page = join(DATA, 'workers-page.json');
writeFileSync(page, await (await fetch(`${one.url}${results}?limit=25`, { headers })).text());
const bare = async (workers: number) =>
  await startListening([join(import.meta.dirname, 'bare-workers.ts'), page, String(workers)]);
await using bareOne = await bare(1);
await using bareSeveral = await bare(WORKERS);

const floor = await compare([bareOne, bareSeveral], { path: '/plain', headers: {} });
print(`  a bare server, ${WORKERS} workers / 1: computing time ${floor.ratio.toFixed(2)} (${floor.figures})`);
tell('a hot page of 7 KB', await compare([one, several], { path: `${results}?limit=25`, headers }));
await rowFilesBuilt();
// Steps through all parts of the result, so that no page is in memory already.
const anywhere = { offsetStep: 7919 * 100, offsetModulo: ROWS - 100 };
const small = { path: `${results}?limit=100&offset=OFFSET`, headers, ...anywhere };
tell('100 rows anywhere', await compare([one, several], small));

interface Compared {
  /** Of computing time. */
  readonly ratio: number;
  readonly figures: string;
  readonly faster: number;
}

function tell(what: string, { ratio, figures, faster }: Compared): void {
  const name = `computing time of ${what}, ${WORKERS} workers / 1`;
  report(`${name}, / that of a bare server`, ratio / floor.ratio, '≤ 1.1', `${ratio.toFixed(2)} (${figures})`);
  report(
    'its requests/s, the client on the same cores',
    faster,
    `≤ ${WORKERS}`,
    `a bare server ${floor.faster.toFixed(2)}`,
  );
}

async function compare(servers: readonly [Listening, Listening], asked: Asked): Promise<Compared> {
  const figures: [Figures[], Figures[]] = [[], []];
  for (let turn = 0; turn < TURNS; turn += 1) {
    for (const [index, server] of servers.entries()) figures[index]?.push(await measure(server, asked, turn));
  }
  const [alone, together] = [median(figures[0]), median(figures[1])];
  return {
    ratio: together.micros / alone.micros,
    figures: `${together.micros.toFixed(1)} µs / ${alone.micros.toFixed(1)} µs`,
    faster: together.perSecond / alone.perSecond,
  };
}

async function measure({ url, pid }: Listening, asked: Asked, turn: number): Promise<Figures> {
  const common = { url, connections: CONNECTIONS, millis: MILLIS, warmUpMillis: 0, ...asked };
  await load({ ...common, firstOffset: turn * 1000 + 500, millis: WARM_UP_MILLIS });
  const before = computing(pid);
  const { requests, perSecond } = await load({ ...common, firstOffset: turn * 1000 });
  return { micros: (computing(pid) - before) / requests, perSecond };
}

/** They are asked for by the second page, and built once for all processes: from then on pages are read from them. */
async function rowFilesBuilt(): Promise<void> {
  const isBuilt = () =>
    readdirSync(join(DATA_DIR, 'derived')).some((name) => name.startsWith(execution) && name.endsWith('.rows'));
  for (let offset = 0; !isBuilt(); offset += 1) {
    await (await fetch(`${one.url}${results}?limit=10&offset=${offset}`, { headers })).text();
    await wait(500);
  }
}

/** Of a process and those that it has started, in microseconds. */
function computing(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  const ticks = Number(fields[11]) + Number(fields[12]);
  return (1e6 * ticks) / TICKS_A_SECOND + childrenOf(pid).reduce((sum, child) => sum + computing(child), 0);
}

function median(figures: readonly Figures[]): Figures {
  const middle = figures.toSorted((a, b) => a.micros - b.micros)[Math.floor(figures.length / 2)];
  if (middle === undefined) throw new Error('nothing was measured');
  return middle;
}
