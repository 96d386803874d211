/**
 * What another replica gives, and what it costs the database that they share. Two cores carry a client, two replicas and PostgreSQL here, so
 * the figures that travel are computing time: of a request in a replica, with one and with two (replica-pages.ts); and of PostgreSQL for each
 * kind of request and for each replica that only waits. It takes `npm run setup:postgres` and `npm run setup:s3`.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { Client } from 'pg';
import { Cluster } from '../cluster/cluster.ts';
import type { Replica } from '../cluster/replica.ts';
import { missingServers } from '../cluster/servers.ts';
import { Writer } from '../cluster/smoke/writer.ts';
import { countBytes } from './count-bytes.ts';
import { load } from './load.ts';
import { childrenOf, print } from './measure.ts';
import { comparePages } from './replica-pages.ts';

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

async function measure(): Promise<void> {
  await using cluster = await Cluster.start({ replicas: 2, settings: { QRS_MEMORY: '1GB' } });
  await cluster.qrs('users', 'add', 'bench');
  const key = await cluster.qrs('keys', 'create', '--user', 'bench', '--scope', 'admin');
  const [one, two] = cluster.replicas as [Replica, Replica];
  await using writer = new Writer(one.url, key);
  await writer.send('POST', '/v1/query', { query_id: 1 });
  const run = { queryId: 1, number: 1, rowCount: ROWS };
  await writer.publish(run);
  if (process.argv[2] !== 'database') await comparePages({ replicas: [one, two], key, folder: cluster.folder, run });
  // `node bench/replicas.ts database` measures that alone.
  if (process.argv[2] !== 'pages') await database(cluster, writer, key);
}

/** What PostgreSQL computes, all of its processes together. */
async function database(cluster: Cluster, writer: Writer, key: string): Promise<void> {
  const [one] = cluster.replicas as [Replica];
  const postgres = () => computing(postgresPids(cluster));
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
  const coldStart = performance.now();
  for (let page = 0; page < COLD_PAGES; page += 1) {
    const path = `/v1/query/1/results?limit=10&offset=${page * 17}`;
    await countBytes(one.url + path, { headers: { 'x-service-api-key': key } });
  }
  const coldSeconds = (performance.now() - coldStart) / 1000;
  // What the replicas ask for while they wait, too, is no page's.
  const waiting = idleMicros * cluster.replicas.length * coldSeconds;
  const coldMicros = (1e6 * (postgres() - beforeCold) - waiting) / COLD_PAGES;
  print(`  for a page that is not in memory: ${coldMicros.toFixed(0)} µs (and what waiting takes in the meantime)`);

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
  const postgres = () => computing(postgresPids(cluster));
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

/** Seconds that processes and the children that they have waited for have computed. */
function computing(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + secondsOf(pid), 0);
}

function secondsOf(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const ticks = [11, 12, 13, 14].reduce((sum, field) => sum + Number(fields[field]), 0);
    return ticks / TICKS_PER_SECOND;
  } catch {
    return 0;
  }
}

/** The server and its connections, each a process. */
function postgresPids(cluster: Cluster): readonly number[] {
  const pid = cluster.servers.find(({ name }) => name === 'postgres')?.pid();
  if (pid === undefined) throw new Error('there is no PostgreSQL in the cluster');
  return [pid, ...childrenOf(pid)];
}
