/**
 * A service that receives uploads is killed with SIGKILL at random moments, and each request that was cut off is sent again under its
 * `Idempotency-Key`. Each upload becomes one whole result, once, and the sweep leaves nothing behind.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { openService } from '../../src/compose/service.ts';
import { writerOfKey } from '../../src/domain/written-names.ts';
import { ReserveFile } from '../../src/files/reserve-file.ts';
import { createKey } from '../../src/keys/create-key.ts';
import { sweep } from '../../src/maintenance/sweep.ts';
import { verify } from '../../src/maintenance/verify.ts';
import { loadSettings } from '../../src/settings/load-settings.ts';
import { sleep } from '../real-time.ts';
import { withoutSettings } from '../without-settings.ts';
import { newFolder } from './dataset-fixture.ts';
import { NEVER } from './publishing.ts';
import { Random } from './random-results.ts';

/** A nightly run kills 200 times. */
const KILLS = Number(process.env.TEST_KILLS ?? 3);
const SEED = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const QRS = join(import.meta.dirname, '../../bin/qrs.js');
const ROWS = 40_000;
const BODY = `id,name,share\n${Array.from({ length: ROWS }, (_, i) => `${i},name ${i * 7919},${i / 8}\n`).join('')}`;

test(`killed ${KILLS} times at random moments, each upload becomes one whole result`, {
  timeout: 7_200_000,
}, async (t) => {
  t.diagnostic(`seed ${SEED}`);
  const random = new Random(SEED);
  const environment = {
    QRS_DATA_DIR: await newFolder(),
    QRS_PORT: '0',
    QRS_SCHEDULE: 'false',
    QRS_RUN_QUERIES: 'false',
    QRS_LOG_LEVEL: 'silent',
  };
  const { settings } = loadSettings({ environment, readFile: () => undefined });
  await using place = await openService(settings, { clock: Date.now, sleep, monotonic: () => performance.now() });
  const catalog = await place.catalog();
  const owner = { kind: 'user', name: 'ann' } as const;
  await catalog.principals.addUser('ann', Date.now());
  await catalog.queries.add({ id: 7, owner, visibility: 'private' }, Date.now());
  const { key } = await createKey(catalog.principals, owner, { scope: 'write' }, Date.now(), randomBytes);

  /** @returns the execution in the answer of the service, or undefined when it was killed before it answered */
  const upload = async (url: string, name: number, killed: AbortSignal): Promise<string | undefined> => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'text/csv',
      'idempotency-key': `"upload ${name}"`,
    };
    try {
      const response = await fetch(`${url}/v1/query/7/results`, { method: 'POST', headers, body: BODY });
      const text = await response.text();
      assert.equal(response.status, 201, text);
      return (JSON.parse(text) as { readonly execution_id: string }).execution_id;
    } catch (error) {
      if (!killed.aborted || error instanceof assert.AssertionError) throw error;
      return undefined;
    }
  };

  const answered = new Map<number, string>();
  let wholeMillis = Number.NaN;
  for (let name = 0; name <= KILLS + 1; name += 1) {
    const { child, url } = await startServing(t, environment);
    // What was cut off before is sent again, whether or not it was committed.
    if (name > 0) {
      const again = await upload(url, name - 1, NEVER);
      assert.ok(again !== undefined);
      assert.equal(again, answered.get(name - 1) ?? again);
      answered.set(name - 1, again);
    }
    const beganAt = performance.now();
    const killed = new AbortController();
    const sent = upload(url, name, killed.signal);
    if (name > 0 && name <= KILLS) {
      await Promise.race([delay((random.below(1_050_000) / 1e6) * wholeMillis), sent]);
      killed.abort();
      child.kill('SIGKILL');
    }
    const id = await sent;
    if (name === 0) wholeMillis = performance.now() - beganAt;
    if (id !== undefined) answered.set(name, id);
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }

  const dependencies = {
    catalog,
    store: await place.store(),
    reserve: new ReserveFile(place.directories.reserve),
    stagingDirectory: place.directories.staging,
    derivedDirectory: place.directories.derived,
    clock: Date.now,
    readTimeoutMillis: 60_000,
    trust: { shareMax: 0.1, confirmed: true },
  };
  await sweep(dependencies, 10_000, NEVER);
  const executions = await catalog.executions.list({ limit: 10_000 });
  assert.deepEqual(executions.map(({ id }) => id).toSorted(), [...answered.values()].toSorted());
  for (const { id, state } of executions) {
    assert.equal(state, 'COMPLETED');
    assert.equal((await catalog.executions.findResultSet(id))?.rowCount, ROWS);
  }
  const checked = await Array.fromAsync(verify(dependencies, NEVER));
  assert.deepEqual(
    checked.filter((object) => object.problem !== undefined),
    [],
  );
  const stored = (await Array.fromAsync(dependencies.store.list(''), (object) => object.key)).filter(writerOfKey);
  assert.deepEqual(stored.sort(), checked.map((object) => object.key).sort());
  assert.deepEqual(await readdir(place.directories.staging), []);
  assert.deepEqual(await catalog.leases.list(''), []);
});

async function startServing(
  t: TestContext,
  settings: Readonly<Record<string, string>>,
): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const env = { ...withoutSettings(), ...settings };
  const child = spawn(process.execPath, [QRS, 'serve'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  const [url] = (await once(createInterface(child.stdout), 'line')) as [string];
  return { child, url };
}
