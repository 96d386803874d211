/**
 * Start-up on a data directory that holds 10,000 executions: how long until /readyz says 200, and the memory at rest, before
 * any request and after a thousand. The executions are made through the catalog, not published, so that this takes seconds.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ulid } from 'ulid';
import { openSqliteCatalog } from '../src/catalog/sqlite/sqlite-catalog.ts';
import { sleep } from '../test/real-time.ts';
import { load } from './load.ts';
import { print, quantile, report, residentMegabytes } from './measure.ts';
import { DATA, qrs, sourceFile, startService } from './service.ts';

const EXECUTIONS = 10_000;
const RUNS = 5;
const DAY = 86_400_000;
const READY_MILLIS_MAX = 30_000;
const REST_MILLIS = 3000;

const dataDir = join(DATA, `executions-${EXECUTIONS}`);
const environment = { QRS_DATA_DIR: dataDir, QRS_PORT: '18099', QRS_LOG_LEVEL: 'warn' };
if (!existsSync(join(dataDir, 'made'))) await makeExecutions();

const millis: number[] = [];
const resting: number[] = [];
for (let run = 0; run <= RUNS; run += 1) {
  const start = performance.now();
  const child = spawn(process.execPath, [join(import.meta.dirname, '..', 'bin', 'qrs.js'), 'serve'], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await ready(start + READY_MILLIS_MAX);
  // The first run compiles, and is not counted.
  if (run > 0) millis.push(performance.now() - start);
  await new Promise((resolve) => setTimeout(resolve, REST_MILLIS));
  if (run > 0) resting.push(residentMegabytes(child.pid ?? 0));
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await exited;
}
const seconds = quantile(millis, 0.5) / 1000;
report(`ready with ${EXECUTIONS} executions / 1 second`, seconds, '< 1', `${(seconds * 1000).toFixed(0)} ms`);
const memory = quantile(resting, 0.5);
report('memory at rest / 200 MB', memory / 200, '< 1', `${memory.toFixed(0)} MB`);

await using service = await startService();
await load({ url: service.url, path: '/healthz', headers: {}, connections: 1 });
print(`  after some thousand requests to /healthz: ${residentMegabytes(service.pid).toFixed(0)} MB`);

async function ready(until: number): Promise<void> {
  while (performance.now() < until) {
    const status = await fetch(`http://127.0.0.1:${environment.QRS_PORT}/readyz`).then(
      (response) => response.status,
      () => undefined,
    );
    if (status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`not ready after ${READY_MILLIS_MAX} ms`);
}

/** Runs of one query over the last days, each with the manifest of a result of a million rows. */
async function makeExecutions(): Promise<void> {
  rmSync(dataDir, { recursive: true, force: true });
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  await qrs(['users', 'add', 'bench'], environment);
  await qrs(['queries', 'add', '--id', '1', '--user', 'bench'], environment);
  // One that is published joins catalog and store: with none of its results in the store, the service does not start.
  await qrs(['publish', await sourceFile(10), '--query', '1'], environment);
  await using catalog = await openSqliteCatalog(join(dataDir, 'catalog.sqlite'), { clock: Date.now, sleep });
  const now = Date.now();
  const columns = [{ name: 'id', type: { kind: 'bigint' } }] as const;
  for (let i = 0; i < EXECUTIONS; i += 1) {
    const at = now - DAY + i * 1000;
    const id = ulid(at);
    const lease = await catalog.leases.acquire(`write:${id}`, 'bench', DAY);
    if (lease === undefined) throw new Error(`no lease for ${id}`);
    const part = {
      key: `${id}/1/part-00000.parquet`,
      firstRow: 0,
      rowCount: 1_000_000,
      cellBytes: 8_000_000,
      rowBytesMax: 8,
      objectBytes: 1_000_000,
      sha256: '0'.repeat(64),
    };
    const resultSet = { columns, rowCount: 1_000_000, cellBytes: 8_000_000, truncated: false, parts: [part] };
    await catalog.executions.addCompleted(
      { id, queryId: 1, parameters: {}, state: 'PENDING', submittedAt: at },
      { startedAt: at, endedAt: at + 500, expiresAt: at + 90 * DAY, resultSet },
      lease,
      { clock: () => at + 500 },
    );
    await catalog.leases.release(lease);
  }
  mkdirSync(join(dataDir, 'made'));
}
