/**
 * What another replica gives, and what it costs the database that they share. Two cores carry a client, two replicas and PostgreSQL here, so
 * the figures that travel are computing time: of a request in a replica, with one and with two; and of PostgreSQL for each kind of
 * request and for each replica that only waits. It takes `npm run setup:postgres` and `npm run setup:s3`.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { Client } from 'pg';
import { Cluster } from '../cluster/cluster.ts';
import type { Replica } from '../cluster/replica.ts';
import { missingServers } from '../cluster/servers.ts';
import { Writer } from '../cluster/smoke/writer.ts';
import { countBytes } from './count-bytes.ts';
import { load } from './load.ts';
import { print, report } from './measure.ts';

/** To each replica. */
const CONNECTIONS = 8;
const TURNS = 5;
const TURN_MILLIS = 1500;
const WARM_MILLIS = 2500;
/** Two replicas do so much of twice the work of one. */
const LINEAR = 0.9;
const IDLE_MILLIS = 10_000;
const PUBLISHES = 40;
const COLD_PAGES = 1000;
const CHANGES = 300;
const ROWS = 20_000;
const REPORTED_MILLIS = 1500;
/** Of the kernel's clock: what it counts computing time in. */
const TICKS_PER_SECOND = 100;

const missing = missingServers();
if (missing.length > 0) print(`  skipped: ${missing.join('; ')}`);
else await measure();

interface Loaded {
  readonly replica: Replica;
  readonly core: number;
}

async function measure(): Promise<void> {
  await using cluster = await Cluster.start({ replicas: 2, settings: { QRS_MEMORY: '1GB' } });
  await cluster.qrs('users', 'add', 'bench');
  const key = await cluster.qrs('keys', 'create', '--user', 'bench', '--scope', 'admin');
  const [one, two] = cluster.replicas as [Replica, Replica];
  await using writer = new Writer(one.url, key);
  await writer.send('POST', '/v1/query', { query_id: 1 });
  await writer.publish({ queryId: 1, number: 1, rowCount: ROWS });
  if (process.argv[2] !== 'database') await pages(one, two, key);
  // `node bench/replicas.ts database` measures that alone.
  if (process.argv[2] !== 'pages') await database(cluster, writer, key);
}

/**
 * Same work for each replica, of one alone and of two at once: a page that it has in memory, and pages that it has to read. Each replica has
 * a core, which it shares with its client, as if it was a machine of its own.
 */
async function pages(one: Replica, two: Replica, key: string): Promise<void> {
  const [first, second] = [
    { replica: one, core: 0 },
    { replica: two, core: 1 },
  ];
  const isPinned = [first, second].every(({ replica, core }) => pin(replica.pid, core));
  print(isPinned ? '  each replica and its client have a core' : '  replicas share all cores: taskset is not here');
  const kinds = [
    { name: 'a page in memory', path: () => 'limit=25' },
    // Another limit in each turn, so that no page is asked for twice.
    { name: 'a page that is read', path: (turn: number) => `limit=${100 + turn}&offset=OFFSET` },
  ];
  for (const { name, path } of kinds) {
    // The second reads build the row files, and V8 compiles what is hot.
    for (let warmUp = 0; warmUp < 2; warmUp += 1) await microsEach([first, second], key, path(0), WARM_MILLIS);
    const turns: { readonly alone: number; readonly together: number }[] = [];
    for (let turn = 1; turn <= TURNS; turn += 1) {
      const ofFirst = await microsEach([first], key, path(3 * turn), TURN_MILLIS);
      const ofSecond = await microsEach([second], key, path(3 * turn + 1), TURN_MILLIS);
      const together = await microsEach([first, second], key, path(3 * turn + 2), TURN_MILLIS);
      turns.push({ alone: (ofFirst + ofSecond) / 2, together });
    }
    const ratio = median(turns.map(({ alone, together }) => together / alone));
    const figures = turns.map(({ alone, together }) => `${together.toFixed(1)} / ${alone.toFixed(1)}`).join(', ');
    report(
      `computing time of ${name}, 2 replicas / 1`,
      ratio,
      `≤ ${(1 / LINEAR).toFixed(2)}`,
      `µs by turns: ${figures}`,
    );
  }
}

/** Computing time of a request in microseconds, over all these replicas, each with so many connections. */
async function microsEach(loaded: readonly Loaded[], key: string, query: string, millis: number): Promise<number> {
  const options = {
    path: `/v1/query/1/results?${query}`,
    headers: { 'x-service-api-key': key },
    connections: CONNECTIONS,
    offsetStep: 1,
    offsetModulo: ROWS - 1000,
    warmUpMillis: 0,
    millis,
  };
  const pids = loaded.map(({ replica }) => replica.pid);
  const before = computing(pids);
  const loads = loaded.map(({ replica: { url }, core }) => {
    // The client inherits it.
    pin(process.pid, core);
    return load({ url, ...options });
  });
  const requests = (await Promise.all(loads)).reduce((sum, one) => sum + one.requests, 0);
  return (1e6 * (computing(pids) - before)) / requests;
}

/** @returns false where a process cannot be given a core */
function pin(pid: number, core: number): boolean {
  return spawnSync('taskset', ['-acp', String(core), String(pid)], { stdio: 'ignore' }).status === 0;
}

/** What PostgreSQL computes, all of its processes together. */
async function database(cluster: Cluster, writer: Writer, key: string): Promise<void> {
  const [one] = cluster.replicas as [Replica];
  const postgres = () => computing(treeOf(postgresPid(cluster)));
  const pids = cluster.replicas.map(({ pid }) => pid);
  const [idle, ownIdle] = [postgres(), computing(pids)];
  await wait(IDLE_MILLIS);
  const idleMicros = (1e6 * (postgres() - idle)) / (IDLE_MILLIS / 1000) / cluster.replicas.length;
  print(`  PostgreSQL for a replica that only waits: ${(idleMicros / 1000).toFixed(2)} ms of computing a second`);
  const ownMicros = (1e6 * (computing(pids) - ownIdle)) / (IDLE_MILLIS / 1000) / pids.length;
  print(`  and the replica itself: ${(ownMicros / 1000).toFixed(2)} ms`);

  const beforeHot = postgres();
  const hot = await load({
    url: one.url,
    path: '/v1/query/1/results?limit=25',
    headers: { 'x-service-api-key': key },
    warmUpMillis: 0,
    millis: 4000,
  });
  const hotMicros = (1e6 * (postgres() - beforeHot)) / hot.requests;
  print(`  for a hot page: ${hotMicros.toFixed(2)} µs (${hot.requests} requests)`);

  const beforeCold = postgres();
  for (let page = 0; page < COLD_PAGES; page += 1) {
    const path = `/v1/query/1/results?limit=10&offset=${page * 17}`;
    await countBytes(one.url + path, { headers: { 'x-service-api-key': key } });
  }
  const coldMicros = (1e6 * (postgres() - beforeCold)) / COLD_PAGES;
  print(`  for a page that is not in memory: ${coldMicros.toFixed(0)} µs`);

  const changeMicros = await microsOfChange(cluster, key, false);
  const bothMicros = await microsOfChange(cluster, key, true);
  const afterChange = (bothMicros - changeMicros) / cluster.replicas.length;
  print(
    `  for a change of a query: ${changeMicros.toFixed(0)} µs, and ${afterChange.toFixed(0)} µs for a page in memory that each replica is asked for next`,
  );

  const writesBefore = await logWrites(cluster);
  const beforeWrites = postgres();
  const start = performance.now();
  for (let run = 0; run < PUBLISHES; run += 1) await writer.publish({ queryId: 1, number: run + 2, rowCount: 10 });
  const publishMicros = (1e6 * (postgres() - beforeWrites)) / PUBLISHES;
  const millisEach = (performance.now() - start) / PUBLISHES;
  print(
    `  for a publish over HTTP: ${(publishMicros / 1000).toFixed(2)} ms, of ${millisEach.toFixed(0)} ms that it takes`,
  );
  const writes = ((await logWrites(cluster)) - writesBefore) / PUBLISHES;
  print(
    `  a publish writes the log ${writes.toFixed(1)} times, one after the other: flushes of 1 ms allow ${Math.round(1000 / writes)} publishes a second`,
  );
  print(
    `  one core of PostgreSQL carries ${Math.round(1e6 / publishMicros)} publishes a second, or ${Math.round(1e6 / idleMicros)} waiting replicas`,
  );
}

/**
 * Of PostgreSQL for each change that makes what replicas remember of the catalog stale. @param readsAfter whether each replica is then asked
 * for a page, for which it has to look that up again
 */
async function microsOfChange(cluster: Cluster, key: string, readsAfter: boolean): Promise<number> {
  const postgres = () => computing(treeOf(postgresPid(cluster)));
  const [first] = cluster.replicas;
  const headers = { 'x-service-api-key': key, 'content-type': 'application/json' };
  const before = postgres();
  for (let change = 0; change < CHANGES; change += 1) {
    const body = JSON.stringify({ description: `${change}` });
    const changed = await fetch(`${first?.url}/v1/query/1`, { method: 'PATCH', headers, body });
    if (!changed.ok) throw new Error(`the query was not changed: ${changed.status}`);
    if (!readsAfter) continue;
    for (const { url } of cluster.replicas) {
      await countBytes(`${url}/v1/query/1/results?limit=25`, { headers });
    }
  }
  return (1e6 * (postgres() - before)) / CHANGES;
}

/** How often connections have written the database's log so far: once for each commit that changes something. */
async function logWrites(cluster: Cluster): Promise<number> {
  // Connections report what they have counted at most once a second.
  await wait(REPORTED_MILLIS);
  const client = new Client({
    connectionString: cluster.servers.find(({ name }) => name === 'postgres')?.address ?? '',
  });
  await client.connect();
  try {
    const sql =
      "SELECT sum(writes)::INT AS writes FROM pg_stat_io WHERE object = 'wal' AND backend_type = 'client backend'";
    return (await client.query<{ writes: number }>(sql)).rows[0]?.writes ?? 0;
  } finally {
    await client.end();
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** Seconds that processes and the children that they have waited for have computed. */
function computing(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + statOf(pid).seconds, 0);
}

function statOf(pid: number): { readonly parent: number; readonly seconds: number } {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const ticks = [11, 12, 13, 14].reduce((sum, field) => sum + Number(fields[field]), 0);
    return { parent: Number(fields[1]), seconds: ticks / TICKS_PER_SECOND };
  } catch {
    return { parent: 0, seconds: 0 };
  }
}

function treeOf(pid: number): readonly number[] {
  const pids = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
  return [pid, ...pids.filter((other) => statOf(other).parent === pid)];
}

function postgresPid(cluster: Cluster): number {
  const pid = cluster.servers.find(({ name }) => name === 'postgres')?.pid();
  if (pid === undefined) throw new Error('there is no PostgreSQL in the cluster');
  return pid;
}
