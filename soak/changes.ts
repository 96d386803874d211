/** What changes while the soak reads: runs are published, datasets refreshed, keys made and revoked. The service sweeps by itself. */
import { setTimeout as wait } from 'node:timers/promises';
import { type Client, Refused, Wrong } from './client.ts';
import type { Below } from './random.ts';
import { csvOf, type Run, TYPES } from './rows.ts';
import type { Soaked } from './service.ts';
import { QUERIES, type World } from './world.ts';
import { WIDE_QUERY, wideCsv } from './worst-reads.ts';

/** Mostly small runs; some that are walked through views, and some that are sampled from a pre-sample. */
const ROW_COUNTS = [2000, 5000, 5000, 30_000, 2000, 120_000] as const;
const KEYS = 6;
const PAUSE_MILLIS = 2000;
const REFRESH_MILLIS = 60_000;

let lastRun = 0;

/** Users, queries, a first run of each, keys, the datasets. */
export async function fillService(service: Soaked, world: World): Promise<void> {
  await service.qrs(['users', 'add', 'ann']);
  for (const queryId of QUERIES) {
    await service.qrs(['queries', 'add', '--id', String(queryId), '--user', 'ann']);
    await publishRun(service, world, queryId);
  }
  await service.qrs(['queries', 'add', '--id', String(WIDE_QUERY), '--user', 'ann']);
  await publishWide(service);
  for (let made = 0; made < KEYS; made += 1) await makeKey(service, world);
  await service.qrs(['datasets', 'refresh', '--all']);
}

/** Publishes each query in turn, with a pause after each, until the end. */
export async function publishOn(service: Soaked, world: World, end: AbortSignal): Promise<void> {
  for (let turn = 0; !end.aborted; turn += 1) {
    await publishRun(service, world, QUERIES[turn % QUERIES.length] ?? QUERIES[0]);
    await pause(PAUSE_MILLIS, end);
  }
}

export async function refreshOn(service: Soaked, end: AbortSignal): Promise<void> {
  while (!end.aborted) {
    await pause(REFRESH_MILLIS, end);
    if (end.aborted) return;
    await service.qrs(['datasets', 'refresh', '--all']);
    await publishWide(service);
  }
}

/** Makes a key and revokes another, which from then on is wrong. */
export async function changeKeysOn(
  service: Soaked,
  world: World,
  client: Client,
  below: Below,
  end: AbortSignal,
): Promise<void> {
  while (!end.aborted) {
    await pause(3 * PAUSE_MILLIS, end);
    if (end.aborted) return;
    await makeKey(service, world);
    const [gone] = world.keys.splice(below(world.keys.length - 1), 1);
    if (gone === undefined) continue;
    while (gone.users > 0 && !end.aborted) await pause(PAUSE_MILLIS, end);
    if (end.aborted) return;
    await service.qrs(['keys', 'revoke', gone.id]);
    const status = await client.get(`/v1/query/${QUERIES[0]}/results?limit=1`, gone.key).then(
      (answer) => answer.status,
      // The soak sends so many wrong keys that it reaches their limit: 429 is a refusal, too.
      (error: unknown) => (error instanceof Refused ? error.status : Promise.reject(error)),
    );
    if (status !== 401 && status !== 429) throw new Wrong(`a revoked key was answered ${status}`);
    world.revokedKeys.push(gone.key);
  }
}

async function publishRun(service: Soaked, world: World, queryId: number): Promise<void> {
  lastRun += 1;
  const rowCount = (ROW_COUNTS[queryId % ROW_COUNTS.length] ?? 0) + (lastRun % 7);
  const run: Run = { queryId, number: lastRun, rowCount };
  world.add(run);
  await service.qrs(['publish', '-', '--format', 'csv', '--query', String(queryId), '--types', TYPES], csvOf(run));
}

async function publishWide(service: Soaked): Promise<void> {
  await service.qrs(['publish', '-', '--format', 'csv', '--query', String(WIDE_QUERY)], wideCsv());
}

/** @returns a key that may write */
export async function makeWriteKey(service: Soaked): Promise<string> {
  const { key } = JSON.parse(await service.qrs(['keys', 'create', '--user', 'ann', '--scope', 'write', '--json']));
  return key;
}

async function makeKey(service: Soaked, world: World): Promise<void> {
  const { id, key } = JSON.parse(await service.qrs(['keys', 'create', '--user', 'ann', '--json']));
  world.keys.push({ id, key, users: 0 });
}

async function pause(millis: number, end: AbortSignal): Promise<void> {
  await wait(millis, undefined, { signal: end }).catch(() => undefined);
}
