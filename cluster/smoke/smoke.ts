/**
 * A smoke run: a while of load whose every answer is checked, while one part of the service after the other is killed; then the accounts.
 * Nothing may be wrong and nothing lost. While something is dead, refusals must be honest: a 5xx of the service with a code.
 */
import { rmSync } from 'node:fs';
import { random } from '../../soak/random.ts';
import { QUERIES, World } from '../../soak/world.ts';
import { Cluster } from '../cluster.ts';
import { checkExecuted, checkPublished, checkTicks } from './accounts.ts';
import { SmokeClient } from './client.ts';
import { Figures } from './figures.ts';
import { History } from './history.ts';
import { Kills } from './kills.ts';
import {
  changeKeysOn,
  EXECUTED_QUERY,
  executeOn,
  type Load,
  makeKeys,
  newRun,
  PROBED_QUERY,
  publishOn,
  publishRun,
  readOn,
} from './load.ts';
import { rowsSql } from './sql.ts';
import { Writer } from './writer.ts';

const CONNECTIONS = 8;
/** Of queries that the service runs each minute. */
const SCHEDULED = [211, 212, 213] as const;
const PROBE_ROWS = 10;
/** A tick is due at each full minute; so much later it has been seen to. */
const TICK_MILLIS = 10_000;

/** What replicas log of servers that are away. */
const EXPECTED = /"type":"(?:CatalogUnavailable|StoreUnavailable|NotReady)"/;
const LOG_LINES = 20;
const LOG_LINE_LENGTH = 1000;

export interface SmokeOptions {
  readonly replicas: number;
  readonly seconds: number;
  readonly seed: number;
  readonly signal: AbortSignal;
  readonly tell: (line: string) => void;
  /** Whether queries run on Trino, which is killed, too. */
  readonly trino: boolean;
  /** Whether anything is killed. */
  readonly kills: boolean;
}

/** @returns the figures, and their line */
export async function smoke(options: SmokeOptions): Promise<{ readonly figures: Figures; readonly line: string }> {
  const { tell, signal } = options;
  const world = new World();
  try {
    await using cluster = await Cluster.start({
      replicas: options.replicas,
      trino: options.trino,
      tell,
      // So little that replicas fetch again what they had.
      settings: { QRS_MEMORY: '1GB', QRS_STORE_CACHE: '64MB' },
    });
    await cluster.qrs('users', 'add', 'ann');
    const adminKey = await cluster.qrs('keys', 'create', '--user', 'ann', '--scope', 'admin');
    const client = new SmokeClient(cluster.front.url, CONNECTIONS + 4);
    await using writer = new Writer(cluster.front.url, adminKey);
    const figures = new Figures(tell);
    const history = new History(world);
    const kills = new Kills(cluster, figures, adminKey, async (through) => {
      const run = newRun(world, PROBED_QUERY, PROBE_ROWS);
      history.published.push({ run, executionId: await through.publish(run), at: performance.now() });
    });
    const load: Load = { client, writer, history, figures, kills, below: random(options.seed) };
    const from = await fill(load, options.trino ? 'trino' : 'duckdb');
    const seconds = await run(options, load, kills);
    if (!signal.aborted) {
      const accounts = { client, key: adminKey, history, figures };
      await checkTicks(accounts, SCHEDULED, { from, to: Date.now() - TICK_MILLIS });
      await checkExecuted(accounts);
      await checkPublished(accounts);
      await verify(cluster, figures);
    }
    client.close();
    if (!figures.isWell) await tellLogs(cluster, tell);
    const servers = [
      ...cluster.servers.map(({ program }) => program),
      cluster.front.program,
      `${cluster.replicas.length} replicas`,
    ];
    return { figures, line: figures.line(seconds, servers) };
  } finally {
    rmSync(world.folder, { recursive: true, force: true });
  }
}

/** @returns when the queries with schedules were there */
async function fill(load: Load, engine: 'duckdb' | 'trino'): Promise<number> {
  const { writer } = load;
  for (const id of [...QUERIES, PROBED_QUERY]) await writer.send('POST', '/v1/query', { query_id: id });
  const parameters = [{ key: 'run', type: 'number', value: '1' }];
  await writer.send('POST', '/v1/query', {
    query_id: EXECUTED_QUERY,
    query_sql: rowsSql('{{run}}', engine),
    parameters,
  });
  for (const id of SCHEDULED) {
    const query_sql = rowsSql(String(id), engine);
    await writer.send('POST', '/v1/query', { query_id: id, query_sql, schedule: '* * * * *' });
  }
  const from = Date.now();
  await makeKeys(load);
  for (const queryId of QUERIES) await publishRun(load, queryId);
  return from;
}

/** @returns for how many seconds there was load */
async function run(options: SmokeOptions, load: Load, kills: Kills): Promise<number> {
  const { tell, signal, figures } = { ...options, figures: load.figures };
  const start = performance.now();
  const over = new AbortController();
  const end = AbortSignal.any([signal, AbortSignal.timeout(millisToRun(options.seconds)), over.signal]);
  const failed = (error: unknown) => {
    figures.addWrong(error instanceof Error ? `${error.message} ${error.cause ?? ''}` : String(error));
    over.abort();
  };
  await Promise.all([
    ...Array.from({ length: CONNECTIONS }, () => readOn(load, end).catch(failed)),
    publishOn(load, end).catch(failed),
    executeOn(load, end).catch(failed),
    changeKeysOn(load, end).catch(failed),
    ...(options.kills ? [kills.killOn(end, tell).catch(failed)] : []),
  ]);
  return (performance.now() - start) / 1000;
}

/** Long enough that a tick is due in it, and seen to. */
function millisToRun(seconds: number): number {
  const toTick = 60_000 - (Date.now() % 60_000) + TICK_MILLIS;
  return Math.max(seconds * 1000, toTick + 1000);
}

/** Every stored object against its checksum. */
async function verify(cluster: Cluster, figures: Figures): Promise<void> {
  await cluster.qrs('verify').catch((error: unknown) => figures.addLost(String(error)));
}

async function tellLogs(cluster: Cluster, tell: (line: string) => void): Promise<void> {
  for (const replica of cluster.replicas) {
    const lines = (await replica.logLines()).filter((line) => line.includes('"level":"error"') && !EXPECTED.test(line));
    for (const line of lines.slice(-LOG_LINES)) tell(`${replica.name}: ${line.slice(0, LOG_LINE_LENGTH)}`);
  }
}
