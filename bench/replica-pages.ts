/**
 * The computing time of a request in a replica, with one and with two at work. Each has a core, which it shares with its client, as if it was a
 * machine of its own. But two cores of one machine share caches and memory, so that two programs that have nothing to do with each other slow
 * each other down, too. Two bare servers tell by how much, in the same turns: they send bodies of the same size, on the same cores. They touch
 * less memory than whoever reads a page does. So for that two services tell it, too, which share neither catalog nor store.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Replica } from '../cluster/replica.ts';
import { Writer } from '../cluster/smoke/writer.ts';
import type { Run } from '../soak/rows.ts';
import { load } from './load.ts';
import { childrenOf, print, quantile, report } from './measure.ts';
import { QRS, qrs, type Service, startBareServer, startListening } from './service.ts';

/** To each replica. */
const CONNECTIONS = 8;
const TURNS = 13;
const TURN_MILLIS = 500;
/** V8 compiles all that reads pages only after some ten thousand of them. */
const WARM_MILLIS = 5000;
/** Two replicas do so much of twice the work of one. */
const LINEAR = 0.9;
const BUILD_MILLIS_MAX = 60_000;

interface Asked {
  readonly path: string;
  readonly offsetModulo: number;
}

/** What answers on one core. */
interface Loaded {
  readonly url: string;
  readonly pid: number;
  /** None where nothing is checked. */
  readonly key: string;
  readonly core: number;
}

type Pair = readonly [Loaded, Loaded];

interface Turn {
  readonly alone: number;
  readonly together: number;
}

/** Two programs, and what they are asked. */
interface Contenders {
  readonly pair: Pair;
  /** Another request for each number, where no page is to be asked for twice. Replicas do not know each other's pages. */
  readonly asked: (number: number) => Asked;
}

type Turns = readonly ReadonlyMap<Contenders, Turn>[];

export interface Compared {
  readonly replicas: readonly [Replica, Replica];
  readonly key: string;
  /** For data directories, and what bare servers send. */
  readonly folder: string;
  /** What replicas have as a result of query 1. */
  readonly run: Run;
}

export async function comparePages({ replicas, key, folder, run }: Compared): Promise<void> {
  const pair = onCores([
    { url: replicas[0].url, pid: replicas[0].pid, key },
    { url: replicas[1].url, pid: replicas[1].pid, key },
  ]);
  const isPinned = pair.every(({ pid, core }) => pin(pid, core));
  print(isPinned ? '  each replica and its client have a core' : '  replicas share all cores: taskset is not here');
  const offsetModulo = run.rowCount - 1000;
  const asking = (query: (number: number) => string) => (number: number) => ({
    path: `/v1/query/1/results?${query(number)}`,
    offsetModulo,
  });
  {
    const ours: Contenders = { pair, asked: asking(() => 'limit=25') };
    await using bare = await bareServers(ours, folder);
    tell('a page in memory', { ours, bare }, await takeTurns([ours, bare]));
  }
  const query = (number: number) => `limit=${100 + number}&offset=OFFSET`;
  const ours: Contenders = { pair, asked: asking(query) };
  await using bare = await bareServers(ours, folder);
  await using first = await startApart(join(folder, 'apart-1'), run);
  await using second = await startApart(join(folder, 'apart-2'), run);
  const apart: Contenders = { pair: onCores([first, second]), asked: asking(query) };
  for (const { pair: each, asked } of [ours, apart]) {
    // The second reads build the row files.
    await microsEach(each, asked(0), WARM_MILLIS);
    await Promise.all(each.map(untilBuilt));
  }
  tell('a page that is read', { ours, bare, apart }, await takeTurns([ours, bare, apart]));
}

async function takeTurns(all: readonly Contenders[]): Promise<Turns> {
  for (const { pair, asked } of all) {
    for (const { pid, core } of pair) pin(pid, core);
    await microsEach(pair, asked(1), WARM_MILLIS);
  }
  const turns: Map<Contenders, Turn>[] = [];
  for (let number = 1; number <= TURNS; number += 1) {
    const isReversed = number % 2 === 0;
    const numbers = isReversed ? [2 * number + 1, 2 * number] : [2 * number, 2 * number + 1];
    const turn = new Map<Contenders, Turn>();
    for (const each of isReversed ? all.toReversed() : all) {
      turn.set(each, await takeTurn(each.pair, numbers.map(each.asked), isReversed));
    }
    turns.push(turn);
  }
  return turns;
}

interface Told {
  readonly ours: Contenders;
  readonly bare: Contenders;
  readonly apart?: Contenders;
}

function tell(name: string, { ours, bare, apart }: Told, turns: Turns): void {
  const ratios = (of: Contenders) => turns.map((turn) => ratioOf(turn.get(of)));
  const line = (what: string, of: Contenders) => {
    const [alone, together] = (['alone', 'together'] as const).map((how) =>
      quantile(
        turns.map((turn) => turn.get(of)?.[how] ?? Number.NaN),
        0.5,
      ).toFixed(1),
    );
    const each = ratios(of).map((ratio) => ratio.toFixed(2));
    print(
      `  ${what}: ${quantile(ratios(of), 0.5).toFixed(2)} (${together} µs / ${alone} µs, by turns ${each.join(' ')})`,
    );
  };
  line(`computing time of ${name}, 2 replicas / 1`, ours);
  line('the same of two bare servers that share nothing', bare);
  if (apart !== undefined) line('the same of two services that share nothing', apart);
  for (const [what, floor] of [
    ['bare servers', bare],
    ['services that share nothing', apart],
  ] as const) {
    if (floor === undefined) continue;
    const quotients = turns.map((turn) => ratioOf(turn.get(ours)) / ratioOf(turn.get(floor)));
    const [low, middle, high] = [0.25, 0.5, 0.75].map((q) => quantile(quotients, q)) as [number, number, number];
    const figures = `half of ${turns.length} turns between ${low.toFixed(2)} and ${high.toFixed(2)}`;
    report(`${name}, 2 replicas / 1, / that of ${what}`, middle, `≤ ${(1 / LINEAR).toFixed(2)}`, figures);
  }
}

function ratioOf(turn: Turn | undefined): number {
  return turn === undefined ? Number.NaN : turn.together / turn.alone;
}

/** Each alone, and both at once; in the other order when that is asked for. @param asked when alone, and when together */
async function takeTurn(pair: Pair, [alone, together]: readonly Asked[], isReversed: boolean): Promise<Turn> {
  if (alone === undefined || together === undefined) throw new Error('a turn takes two requests');
  const micros = new Map<string, number>();
  const tasks = [
    async () => micros.set('first', await microsEach([pair[0]], alone, TURN_MILLIS)),
    async () => micros.set('second', await microsEach([pair[1]], alone, TURN_MILLIS)),
    async () => micros.set('together', await microsEach(pair, together, TURN_MILLIS)),
  ];
  for (const task of isReversed ? tasks.reverse() : tasks) await task();
  const of = (name: string) => micros.get(name) ?? Number.NaN;
  return { alone: (of('first') + of('second')) / 2, together: of('together') };
}

/** Computing time of a request in microseconds, over all of these, each with so many connections. */
async function microsEach(loaded: readonly Loaded[], asked: Asked, millis: number): Promise<number> {
  const options = { ...asked, connections: CONNECTIONS, offsetStep: 1, warmUpMillis: 0, millis };
  const before = loaded.map(({ pid }) => computing(pid));
  const each = await Promise.all(
    loaded.map(async ({ url, pid, core, key }, index) => {
      // The client inherits it.
      pin(process.pid, core);
      const { requests } = await load({ url, headers: { 'x-service-api-key': key }, ...options });
      return (computing(pid) - (before[index] ?? 0)) / requests;
    }),
  );
  return each.reduce((sum, micros) => sum + micros, 0) / each.length;
}

/** Resolves when a replica has built the row file of the result, and builds nothing else. */
async function untilBuilt({ url, pid }: Loaded): Promise<void> {
  const signal = AbortSignal.timeout(BUILD_MILLIS_MAX);
  for (;;) {
    const metrics = await (await fetch(`${url}/metrics`, { signal })).text();
    const built = Number(/^qrs_row_files_total\{outcome="built"\} (\d+)/m.exec(metrics)?.[1] ?? 0);
    // A process of its own builds, and ends when there is nothing left to build.
    if (built > 0 && childrenOf(pid).length === 0) return;
    await wait(100, undefined, { signal });
  }
}

/** Microseconds that the threads of a process have computed. What its children have is not in it. */
function computing(pid: number): number {
  const folder = `/proc/${pid}/task`;
  const nanos = readdirSync(folder).map((thread) =>
    Number(readFileSync(join(folder, thread, 'schedstat'), 'utf8').split(' ')[0]),
  );
  return nanos.reduce((sum, each) => sum + each, 0) / 1000;
}

function onCores([first, second]: readonly [Omit<Loaded, 'core'>, Omit<Loaded, 'core'>]): Pair {
  return [
    { ...first, core: 0 },
    { ...second, core: 1 },
  ];
}

/** They send what the first of the others does. */
async function bareServers(
  { pair: [{ url, key }], asked }: Contenders,
  folder: string,
): Promise<Contenders & AsyncDisposable> {
  const page = await fetch(url + asked(1).path.replace('OFFSET', '0'), { headers: { 'x-service-api-key': key } });
  const body = join(folder, 'page.json');
  writeFileSync(body, await page.text());
  await using stack = new AsyncDisposableStack();
  const start = async () => {
    const { url: address, pid } = stack.use(await startBareServer(body));
    return { url: address, pid, key: '' };
  };
  const pair = onCores([await start(), await start()]);
  const started = stack.move();
  const plain = { path: '/plain', offsetModulo: 1 };
  return { pair, asked: () => plain, [Symbol.asyncDispose]: async () => await started.disposeAsync() };
}

/** A service of one process, which has the same rows in a catalog and a store of its own. */
async function startApart(directory: string, run: Run): Promise<Service> {
  const env = { QRS_DATA_DIR: directory, QRS_MEMORY: '1GB' };
  await qrs(['users', 'add', 'bench'], env);
  const key = await qrs(['keys', 'create', '--user', 'bench', '--scope', 'admin'], env);
  const service = await startListening([QRS, 'serve'], env);
  await using writer = new Writer(service.url, key);
  await writer.send('POST', '/v1/query', { query_id: run.queryId });
  await writer.publish(run);
  return { ...service, key };
}

/** @returns false where a process cannot be given a core */
function pin(pid: number, core: number): boolean {
  return spawnSync('taskset', ['-acp', String(core), String(pid)], { stdio: 'ignore' }).status === 0;
}
