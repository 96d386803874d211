/** Two real `qrs serve` on one data directory: what only processes can show of the schedule. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { openSqliteCatalog } from '../../src/catalog/sqlite/sqlite-catalog.ts';
import { writeDemoSources } from '../../src/datasets/demo-sources/write-demo-sources.ts';
import type { Execution } from '../../src/domain/execution.ts';
import { FakeCoordinator } from '../contract/fake-coordinator.ts';
import { sleep } from '../real-time.ts';
import { withoutSettings } from '../without-settings.ts';
import { newFolder } from './dataset-fixture.ts';

const QRS = join(import.meta.dirname, '../../bin/qrs.js');
const LEASE_SECONDS = 5;
const PERIODS = {
  990000001: 24 * 60 * 60_000,
  990000002: 15 * 60_000,
  990000003: 15 * 60_000,
  990000004: 15 * 60_000,
};
const POINTS = 990_000_001;

interface Serving {
  readonly child: ChildProcess;
  readonly url: string;
}

async function startServing(
  t: TestContext,
  dataDir: string,
  more: Readonly<Record<string, string>> = {},
): Promise<Serving> {
  const settings = { QRS_DATA_DIR: dataDir, QRS_PORT: '0', QRS_LEASE_SECONDS: String(LEASE_SECONDS), ...more };
  const env = { ...withoutSettings(), ...settings };
  const child = spawn(process.execPath, [QRS, 'serve'], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  t.after(() => child.kill('SIGKILL'));
  const [url] = await once(createInterface(child.stdout), 'line');
  return { child, url };
}

async function dataWithSources(t: TestContext, wallets: number): Promise<string> {
  const dataDir = await newFolder();
  const size = { operators: 8, avss: 3, stakers: 40, wallets };
  await writeDemoSources(join(dataDir, 'sources'), { size, until: Date.now(), signal: t.signal, sleep });
  return dataDir;
}

/** Looks again and again until other processes have brought it about. */
async function eventually<T>(t: TestContext, look: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    await wait(10, undefined, { signal: t.signal });
  }
}

function runsOf(catalog: Catalog, queryId: number): Promise<readonly Execution[]> {
  return catalog.executions.list({ queryId, limit: 100 });
}

test('two services that start together refresh each dataset once, and both serve it', {
  timeout: 180_000,
}, async (t) => {
  const dataDir = await dataWithSources(t, 20);
  const both = await Promise.all([startServing(t, dataDir), startServing(t, dataDir)]);
  await using catalog = await openSqliteCatalog(join(dataDir, 'catalog.sqlite'), { clock: Date.now, sleep });
  const ids = Object.keys(PERIODS).map(Number);
  await eventually(t, async () => {
    const served = await Promise.all(ids.map((id) => catalog.executions.findLatest(id, {}, Date.now())));
    return served.every((execution) => execution?.state === 'COMPLETED') ? served : undefined;
  });
  for (const { child, url } of both) {
    assert.equal((await fetch(`${url}/v1/points/alpha/pts`)).status, 401);
    child.kill('SIGTERM');
    assert.deepEqual(await once(child, 'exit'), [0, null]);
  }
  for (const [id, period] of Object.entries(PERIODS)) {
    const runs = await runsOf(catalog, Number(id));
    const ticks = runs.map(({ submittedAt }) => Math.floor(submittedAt / period));
    assert.equal(new Set(ticks).size, ticks.length, `query ${id}: a tick was run twice`);
    // The run of a tick that came while they were stopped is left for others to take up.
    const ended = runs.filter(({ state }) => state !== 'PENDING' && state !== 'EXECUTING');
    assert.deepEqual(new Set(ended.map(({ state }) => state)), new Set(['COMPLETED']));
  }
});

test('when a service is killed during a refresh, the other takes it over within the lease time', {
  timeout: 180_000,
}, async (t) => {
  // Enough wallets for a refresh that lasts about a second.
  const dataDir = await dataWithSources(t, 5_000);
  await using catalog = await openSqliteCatalog(join(dataDir, 'catalog.sqlite'), { clock: Date.now, sleep });
  const both = await Promise.all([startServing(t, dataDir), startServing(t, dataDir)]);
  const owner = await eventually(t, async () => {
    const [run] = await runsOf(catalog, POINTS);
    const [lease] = run?.state === 'EXECUTING' ? await catalog.leases.list(`write:${run.id}`) : [];
    return lease?.owner;
  });
  // The third part of an owner's name is its process id.
  const killed = both.find(({ child }) => child.pid === Number(owner.split('|')[2]));
  assert.ok(killed !== undefined, `${owner} is none of the two`);
  killed.child.kill('SIGKILL');
  await once(killed.child, 'exit');
  const died = Date.now();
  const successor = await eventually(t, async () => {
    const [run] = await runsOf(catalog, POINTS);
    if (run?.state === 'COMPLETED') return run.id;
    const [lease] = run === undefined ? [] : await catalog.leases.list(`write:${run.id}`);
    return lease === undefined || lease.owner === owner ? undefined : run?.id;
  });
  const millis = Date.now() - died;
  assert.ok(millis <= LEASE_SECONDS * 1000, `taken over after ${millis} ms`);
  const [run] = await eventually(t, async () => {
    const runs = await runsOf(catalog, POINTS);
    return runs.every(({ state }) => state === 'COMPLETED') ? runs : undefined;
  });
  assert.equal(run?.id, successor);
});

test('a service whose Trino takes questions and answers none says where it listens, and stops when it is told to', {
  timeout: 30_000,
}, async (t) => {
  await using trino = await FakeCoordinator.start();
  trino.file('/v1/statement', { kind: 'silence' });
  const asked = trino.request(/^POST \/v1\/statement$/);
  const engine = { QRS_ENGINE_URL: `trino://qrs@127.0.0.1:${trino.port}/lake` };
  const { child, url } = await startServing(t, await newFolder(), engine);
  await asked;
  assert.equal((await fetch(`${url}/healthz`)).status, 200);
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'exit'), [0, null]);
});
