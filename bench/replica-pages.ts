/**
 * The computing time of a request in a replica, with one and with two at work. Each has a core, which it shares with its client, as if it was a
 * machine of its own. But two cores of one machine share caches and memory, so that two programs that have nothing to do with each other slow
 * each other down, too. Two bare servers tell by how much, in the same turns: they send bodies of the same size, on the same cores.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Replica } from '../cluster/replica.ts';
import { load } from './load.ts';
import { print, quantile, report } from './measure.ts';
import { type Listening, startListening } from './service.ts';

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
  readonly headers: Readonly<Record<string, string>>;
  readonly offsetModulo: number;
}

/** What answers on one core. */
interface Loaded {
  readonly url: string;
  readonly pid: number;
  readonly core: number;
}

type Pair = readonly [Loaded, Loaded];

interface Turn {
  readonly alone: number;
  readonly together: number;
}

/** @param folder for what the bare servers send @param rows of the result of query 1 */
export async function comparePages(
  replicas: readonly [Replica, Replica],
  key: string,
  folder: string,
  rows: number,
): Promise<void> {
  const ours: Pair = onCores(replicas);
  const isPinned = ours.every(({ pid, core }) => pin(pid, core));
  print(isPinned ? '  each replica and its client have a core' : '  replicas share all cores: taskset is not here');
  const kinds = [
    { name: 'a page in memory', limit: 25, isRead: false },
    { name: 'a page that is read', limit: 100, isRead: true },
  ];
  for (const { name, limit, isRead } of kinds) {
    // Another limit for each load, so that no page is asked for twice. Replicas do not know each other's pages.
    const query = (number: number) => (isRead ? `limit=${limit + number}&offset=OFFSET` : `limit=${limit}`);
    const headers = { 'x-service-api-key': key };
    const asked = (number: number): Asked => ({
      path: `/v1/query/1/results?${query(number)}`,
      headers,
      offsetModulo: rows - 1000,
    });
    const body = join(folder, 'page.json');
    writeFileSync(body, await (await fetch(ours[0].url + asked(1).path.replace('OFFSET', '0'), { headers })).text());
    await using first = await bareServer(body);
    await using second = await bareServer(body);
    const bare: Pair = onCores([first, second]);
    for (const { pid, core } of bare) pin(pid, core);
    const plain: Asked = { path: '/plain', headers: {}, offsetModulo: 1 };

    // The second reads build the row files, and V8 compiles what is hot.
    await microsEach(ours, asked(0), WARM_MILLIS);
    if (isRead) await Promise.all(ours.map(untilBuilt));
    await microsEach(ours, asked(1), WARM_MILLIS);
    await microsEach(bare, plain, WARM_MILLIS);
    const turns: { readonly ours: Turn; readonly bare: Turn }[] = [];
    for (let number = 1; number <= TURNS; number += 1) {
      const isReversed = number % 2 === 0;
      const numbers = isReversed ? [2 * number + 1, 2 * number] : [2 * number, 2 * number + 1];
      const tasks = [
        async () => ({ ours: await takeTurn(ours, numbers.map(asked), isReversed) }),
        async () => ({ bare: await takeTurn(bare, [plain, plain], isReversed) }),
      ];
      const done: { ours?: Turn; bare?: Turn } = {};
      for (const task of isReversed ? tasks.reverse() : tasks) Object.assign(done, await task());
      turns.push(done as Required<typeof done>);
    }
    tell(name, turns);
  }
}

function tell(name: string, turns: readonly { readonly ours: Turn; readonly bare: Turn }[]): void {
  const ratio = ({ alone, together }: Turn) => together / alone;
  const medianOf = (value: (turn: (typeof turns)[number]) => number) => quantile(turns.map(value), 0.5);
  const figures = (of: 'ours' | 'bare') =>
    `${medianOf((turn) => turn[of].together).toFixed(1)} µs / ${medianOf((turn) => turn[of].alone).toFixed(1)} µs, turns ${turns
      .map((turn) => ratio(turn[of]).toFixed(2))
      .join(' ')}`;
  print(
    `  computing time of ${name}, 2 replicas / 1: ${medianOf((turn) => ratio(turn.ours)).toFixed(2)} (${figures('ours')})`,
  );
  print(
    `  the same of two bare servers that share nothing: ${medianOf((turn) => ratio(turn.bare)).toFixed(2)} (${figures('bare')})`,
  );
  const quotients = turns.map((turn) => ratio(turn.ours) / ratio(turn.bare));
  const [low, middle, high] = [0.25, 0.5, 0.75].map((q) => quantile(quotients, q)) as [number, number, number];
  report(
    `${name}, 2 replicas / 1, / that of the bare servers`,
    middle,
    `≤ ${(1 / LINEAR).toFixed(2)}`,
    `half of ${turns.length} turns between ${low.toFixed(2)} and ${high.toFixed(2)}`,
  );
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
    loaded.map(async ({ url, pid, core }, index) => {
      // The client inherits it.
      pin(process.pid, core);
      const { requests } = await load({ url, ...options });
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
    const children = threadsOf(pid).flatMap((thread) => readFileSync(`${thread}/children`, 'utf8').split(' '));
    if (built > 0 && children.every((child) => child.trim() === '')) return;
    await wait(100, undefined, { signal });
  }
}

/** Microseconds that the threads of a process have computed. What its children have is not in it. */
function computing(pid: number): number {
  const nanos = threadsOf(pid).map((thread) => Number(readFileSync(`${thread}/schedstat`, 'utf8').split(' ')[0]));
  return nanos.reduce((sum, each) => sum + each, 0) / 1000;
}

function threadsOf(pid: number): readonly string[] {
  const folder = `/proc/${pid}/task`;
  return readdirSync(folder).map((thread) => join(folder, thread));
}

function onCores([first, second]: readonly [Listening | Replica, Listening | Replica]): Pair {
  const of = ({ url, pid }: Listening | Replica, core: number) => ({ url, pid, core });
  return [of(first, 0), of(second, 1)];
}

async function bareServer(body: string): Promise<Listening> {
  return await startListening([join(import.meta.dirname, 'bare-server.ts'), body]);
}

/** @returns false where a process cannot be given a core */
function pin(pid: number, core: number): boolean {
  return spawnSync('taskset', ['-acp', String(core), String(pid)], { stdio: 'ignore' }).status === 0;
}
