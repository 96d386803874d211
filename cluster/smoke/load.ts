/** The load: readers whose every answer is checked, and writers that publish, ask for runs, and make and revoke keys. */
import { setTimeout as wait } from 'node:timers/promises';
import { type Asking, Refused, Wrong } from '../../soak/client.ts';
import type { Below } from '../../soak/random.ts';
import { checkPage, idsFrom, READS, someRead, type WeightedRead } from '../../soak/reads.ts';
import type { Run } from '../../soak/rows.ts';
import { type Published, QUERIES, type World } from '../../soak/world.ts';
import { Broken, type SmokeClient } from './client.ts';
import type { Figures } from './figures.ts';
import { type History, STALENESS_MILLIS } from './history.ts';
import { type Kills, pause } from './kills.ts';
import { sqlRun } from './sql.ts';
import type { Writer } from './writer.ts';

const ROW_COUNTS = [2000, 5000, 20_000, 60_000] as const;
const PAUSE_MILLIS = 500;
const KEYS = 4;
/** Of the queries that the service runs when it is asked. */
export const EXECUTED_QUERY = 201;
/** Written to by those who look whether a replica works again. */
export const PROBED_QUERY = 202;

/** The soak's reads, but for what is not published here; and pages from anywhere, which are cold in the replica that is asked. */
const SMOKE_READS: readonly WeightedRead[] = [
  ...READS.filter(({ name }) => name !== 'dataset' && name !== 'wrong key'),
  { name: 'page from anywhere', weight: 20, read: readDeepPage },
];

async function readDeepPage(client: Asking, world: Published, key: string, below: Below): Promise<void> {
  const queryId = world.someQuery(below);
  const rowCount = Math.min(...world.runsOf(queryId).map((run) => run.rowCount));
  const [offset, limit] = [below(rowCount), 1 + below(200)];
  const path = `/v1/query/${queryId}/results?offset=${offset}&limit=${limit}`;
  checkPage(path, await client.json(path, key), world, queryId, (run) => idsFrom(run, offset, limit));
}

export interface Load {
  readonly client: SmokeClient;
  readonly writer: Writer;
  readonly history: History;
  readonly figures: Figures;
  readonly kills: Pick<Kills, 'replicaWasDeadSince'>;
  readonly below: Below;
}

/** One connection: asks for one thing after another until the end. */
export async function readOn({ client, history, figures, kills, below }: Load, end: AbortSignal): Promise<void> {
  while (!end.aborted) {
    const { read } = someRead(SMOKE_READS, below);
    const held = history.world.keys[below(history.world.keys.length)];
    if (held === undefined) throw new Error('there is no key to ask with');
    held.users += 1;
    try {
      await read(client, history.now(), held.key, below);
      figures.answers += 1;
    } catch (error) {
      await pause(20, end);
      if (error instanceof Refused) figures.addRefusal(error.code ?? String(error.status));
      else if (error instanceof Broken && kills.replicaWasDeadSince(error.startedAt)) figures.cut += 1;
      else figures.addWrong(error instanceof Error ? error.message : String(error));
    } finally {
      held.users -= 1;
    }
  }
}

let lastRun = 0;

/** A run that is about to be stored: from now on it may be read. @param rowCount of the query's usual size when left out */
export function newRun(world: World, queryId: number, rowCount?: number): Run {
  lastRun += 1;
  const run = {
    queryId,
    number: lastRun,
    rowCount: rowCount ?? (ROW_COUNTS[queryId % ROW_COUNTS.length] ?? 0) + (lastRun % 7),
  };
  world.add(run);
  return run;
}

export async function publishRun({ writer, history, figures }: Omit<Load, 'kills'>, queryId: number): Promise<void> {
  const run = newRun(history.world, queryId);
  const executionId = await writer.publish(run);
  history.published.push({ run, executionId, at: performance.now() });
  figures.publishes += 1;
}

/** A result for each query in turn. */
export async function publishOn(load: Load, end: AbortSignal): Promise<void> {
  for (let turn = 0; !end.aborted; turn += 1) {
    await publishRun(load, QUERIES[turn % QUERIES.length] ?? QUERIES[0]);
    await pause(PAUSE_MILLIS, end);
  }
}

/** Asks for runs of a query that the service carries out itself. Whether they came to their end is looked at when all is over. */
export async function executeOn({ writer, history }: Load, end: AbortSignal): Promise<void> {
  while (!end.aborted) {
    lastRun += 1;
    const run = sqlRun(EXECUTED_QUERY, lastRun);
    const body = { query_parameters: { run: String(run.number) } };
    const { execution_id: id } = await writer.send('POST', `/v1/query/${EXECUTED_QUERY}/execute`, body);
    history.executed.push({ run, executionId: String(id), at: performance.now() });
    await pause(3 * PAUSE_MILLIS, end);
  }
}

export async function makeKey({ writer, history }: Pick<Load, 'writer' | 'history'>): Promise<void> {
  for (;;) {
    const { id, key } = await writer.send('POST', '/v1/keys', { user: 'ann', scope: 'read' });
    // The answer of a key that was made by an attempt that got no answer is kept without the key.
    if (key === undefined) continue;
    history.world.keys.push({ id: String(id), key: String(key), users: 0 });
    return;
  }
}

export async function makeKeys(load: Pick<Load, 'writer' | 'history'>): Promise<void> {
  for (let made = 0; made < KEYS; made += 1) await makeKey(load);
}

/** Makes a key and revokes another, which within the bound is wrong everywhere, and stays so. */
export async function changeKeysOn(load: Load, end: AbortSignal): Promise<void> {
  const { writer, history, below } = load;
  const { keys } = history.world;
  while (!end.aborted) {
    await pause(4 * PAUSE_MILLIS, end);
    if (end.aborted) return;
    await makeKey(load);
    const [gone] = keys.splice(below(keys.length - 1), 1);
    if (gone === undefined) continue;
    while (gone.users > 0) await wait(10);
    await writer.send('DELETE', `/v1/keys/${gone.id}`);
    await watchRevoked(load, gone.key, performance.now());
    history.world.revokedKeys.push(gone.key);
  }
}

/** Reads with a revoked key until the bound has passed. */
async function watchRevoked({ client, figures }: Load, key: string, revokedAt: number): Promise<void> {
  for (;;) {
    const startedAt = performance.now();
    const status = await statusOf(client, key);
    const millis = startedAt - revokedAt;
    if (status === 200) figures.revokedMillisMax = Math.max(figures.revokedMillisMax, millis);
    if (millis <= STALENESS_MILLIS) continue;
    if (status === 200) figures.addWrong(`a revoked key was answered after ${Math.round(millis)} ms`);
    return;
  }
}

/** Undefined when it was refused for another reason, or the connection broke. */
async function statusOf(client: SmokeClient, key: string): Promise<number | undefined> {
  try {
    return (await client.get(`/v1/query/${QUERIES[0]}/results?limit=1`, key)).status;
  } catch (error) {
    if (error instanceof Refused || error instanceof Broken || error instanceof Wrong) return undefined;
    throw error;
  }
}
