/**
 * A process that runs queries and refreshes a dataset is killed with SIGKILL at random moments of tick, claim, run and commit.
 * Nothing half-done is visible, no run is lost, no tick and no run is completed twice, and the sweep leaves nothing behind.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { ulid } from 'ulid';
import { openSqliteCatalog } from '../../src/catalog/sqlite/sqlite-catalog.ts';
import { registerDatasets } from '../../src/datasets/register.ts';
import { scheduleName } from '../../src/domain/query.ts';
import { writerOfKey } from '../../src/domain/written-names.ts';
import { sweep } from '../../src/maintenance/sweep.ts';
import { verify } from '../../src/maintenance/verify.ts';
import { sleep } from '../real-time.ts';
import { KILLED_DATASET, ROWS } from './killed-dataset.ts';
import { NEVER, Workplace } from './publishing.ts';
import { Random } from './random-results.ts';

/** A nightly run kills 200 times. */
const KILLS = Number(process.env.TEST_KILLS ?? 6);
const SEED = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const MINUTE = 60_000;
/** When the dataset's first tick is. */
const EPOCH = Date.parse('2024-03-05T10:00:00Z');
const SQL = `SELECT range AS id, md5(range::VARCHAR) AS name, range / {{n}} AS share FROM range(${ROWS}) ORDER BY name`;
const LIMITS = { waitingMax: 1000, waitingOfKeyMax: 1000 };
const GIVEN_UP = 'the process that ran the query ended before its time, 3 times';

test(`killed ${KILLS} times at random moments, each run ends once, whole or as failed`, {
  timeout: 3_600_000,
}, async (t) => {
  t.diagnostic(`seed ${SEED}`);
  const random = new Random(SEED);
  await using place = await Workplace.open();
  await mkdir(join(place.folder, 'sources'), { recursive: true });
  const ids: string[] = [];
  const enqueue = async () => {
    const id = ulid();
    ids.push(id);
    const parameters = { n: String(ids.length) };
    const values = [{ key: 'n', type: 'number', value: parameters.n }] as const;
    const execution = { id, queryId: 1, parameters, state: 'PENDING', submittedAt: Date.now() } as const;
    await place.catalog.runs.enqueue({ execution, sql: SQL, values }, LIMITS);
  };

  await registerDatasets(place.catalog, [KILLED_DATASET], 0);
  await enqueue();
  const whole = await runOnce(place.folder, EPOCH, undefined);
  assert.deepEqual(
    whole.said.map((line) => line.split(' ')[0]),
    ['started', 'completed', 'started', 'completed'],
  );
  const said: string[] = [...whole.said];
  for (let kill = 0; kill < KILLS; kill += 1) {
    await enqueue();
    const killAfterMillis = (random.below(1_050_000) / 1e6) * whole.millis;
    said.push(...(await runOnce(place.folder, EPOCH + (kill + 1) * MINUTE, killAfterMillis)).said);
  }
  const lastTick = EPOCH + (KILLS + 1) * MINUTE;
  const last = await runOnce(place.folder, lastTick, undefined);
  said.push(...last.said);

  await using catalog = await openSqliteCatalog(join(place.folder, 'catalog.db'), { clock: Date.now, sleep });
  assert.deepEqual(await catalog.runs.count(), { waiting: 0, running: 0 });
  const dependencies = { ...place.dependencies, catalog, trust: { shareMax: 0.1, confirmed: true } };
  await sweep(dependencies, 10_000, NEVER);
  const refreshes = await catalog.executions.list({ queryId: KILLED_DATASET.queryId, limit: 10_000 });
  // Each was submitted at its tick. A run that still waited at a later tick stands for that tick, too.
  const ticks = refreshes.map(({ submittedAt }) => submittedAt);
  assert.equal(new Set(ticks).size, ticks.length, 'a tick was run twice');
  assert.equal(await catalog.ticks.findLast(scheduleName({ id: KILLED_DATASET.queryId })), lastTick);
  assert.ok(last.said.includes(`completed ${refreshes[0]?.id}`), 'the last tick was lost');
  ids.push(...refreshes.map(({ id }) => id));
  let completed = 0;
  for (const [index, id] of ids.entries()) {
    const execution = await catalog.executions.find(id);
    assert.ok(execution !== undefined);
    const ended = said.filter((line) => line === `completed ${id}`).length;
    if (execution.state === 'FAILED') {
      assert.equal(execution.error?.message, GIVEN_UP);
      assert.equal(ended, 0);
      continue;
    }
    assert.equal(execution.state, 'COMPLETED', `run ${index} is ${execution.state}`);
    completed += 1;
    // A process killed right after the commit has reported nothing.
    assert.ok(ended <= 1, `run ${index} was completed ${ended} times`);
    assert.equal((await place.resultSet(execution)).rowCount, ROWS);
  }
  assert.ok(completed > ids.length / 2, `${completed} of ${ids.length} completed`);
  const checked = await Array.fromAsync(verify(dependencies, NEVER));
  assert.deepEqual(
    checked.filter((object) => object.problem !== undefined),
    [],
  );
  const stored = (await Array.fromAsync(place.store.list(''), (object) => object.key)).filter(writerOfKey);
  assert.deepEqual(stored.sort(), checked.map((object) => object.key).sort());
  assert.deepEqual(await readdir(join(place.folder, 'objects', 'staging')), []);
  assert.deepEqual(await catalog.leases.list('write:'), []);
});

/** @returns what the process reported, and how long it took from its beginning */
async function runOnce(
  folder: string,
  now: number,
  killAfterMillis: number | undefined,
): Promise<{ readonly millis: number; readonly said: readonly string[] }> {
  const script = join(import.meta.dirname, 'run-queued.ts');
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script, folder, String(now)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const said: string[] = [];
  const lines = createInterface(child.stdout);
  const begun = new Promise<void>((resolve) => {
    lines.on('line', (line) => {
      if (line === 'begin') resolve();
      else said.push(line);
    });
  });
  const closed = once(child, 'close');
  await Promise.race([begun, closed]);
  const beganAt = performance.now();
  if (killAfterMillis !== undefined) {
    const stop = new AbortController();
    await Promise.race([delay(killAfterMillis, undefined, { signal: stop.signal }).catch(() => undefined), closed]);
    stop.abort();
    child.kill('SIGKILL');
  }
  const [code, signal] = await closed;
  if (signal === null) assert.equal(code, 0);
  return { millis: performance.now() - beganAt, said };
}
