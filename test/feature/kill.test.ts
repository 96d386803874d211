/**
 * A publisher that is killed with SIGKILL at a random moment leaves a whole result or none. The sweep then removes everything
 * that the publisher left, and nothing that was there before.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { openSqliteCatalog } from '../../src/catalog/sqlite/sqlite-catalog.ts';
import { isStagingName, writerOfKey } from '../../src/domain/written-names.ts';
import { sweep } from '../../src/maintenance/sweep.ts';
import { verify } from '../../src/maintenance/verify.ts';
import { sleep } from '../real-time.ts';
import { type Entry, foreignTree, isOursInStore, lookAgain, plant, type Tree, ULID } from './foreign-trees.ts';
import { NEVER, Workplace } from './publishing.ts';
import { Random } from './random-results.ts';

/** A nightly run kills 200 times. */
const KILLS = Number(process.env.TEST_KILLS ?? 12);
const SEED = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const PLACES = ['.', 'objects', `objects/${ULID}`, `objects/${ULID}/7`, 'objects/staging'] as const;
const ROWS = 60_000;

test(`killed ${KILLS} times at random moments, no half result is ever visible and the sweep leaves nothing behind`, async (t) => {
  t.diagnostic(`seed ${SEED}`);
  const random = new Random(SEED);
  const moments = Array.from({ length: KILLS }, () => random.below(1_050_000) / 1e6);
  const tree: Tree = Object.assign({}, ...fc.sample(foreignTree(PLACES), { seed: SEED, numRuns: 10 }));
  await using place = await Workplace.open();
  const lines = Array.from({ length: ROWS }, (_, i) => `${i},name ${i * 7919},${i / 8}\n`);
  const file = await place.write('input.csv', `id,name,share\n${lines.join('')}`);

  const planted = await plant(place.folder, tree, isOurs);
  const untilWhole = await publishOnce(place.folder, file, undefined);
  assert.equal(untilWhole.signal, null);
  for (const moment of moments) await publishOnce(place.folder, file, moment * untilWhole.millis);

  // As a process that starts after the crash would.
  await using catalog = await openSqliteCatalog(join(place.folder, 'catalog.db'), { clock: Date.now, sleep });
  // Two hundred kills leave more than a sweep deletes without asking.
  const dependencies = { ...place.dependencies, catalog, trust: { shareMax: 0.1, confirmed: true } };
  await sweep(dependencies, 10_000, NEVER);

  const executions = await catalog.executions.list({ limit: 1000 });
  for (const execution of executions) {
    assert.equal(execution.state, 'COMPLETED');
    const { rowCount, parts } = await place.resultSet(execution);
    assert.equal(rowCount, ROWS);
    assert.equal(parts.length, 8);
  }
  const checked = await Array.fromAsync(verify(dependencies, NEVER));
  assert.deepEqual(
    checked.filter((object) => object.problem !== undefined),
    [],
  );
  // Eight parts, each with its Bloom filters, and the pre-sample.
  assert.equal(checked.length, executions.length * 17);
  const stored = (await Array.fromAsync(place.store.list(''), (object) => object.key)).filter(writerOfKey);
  assert.deepEqual(stored.sort(), checked.map((object) => object.key).sort());
  assert.deepEqual((await readdir(join(place.folder, 'objects', 'staging'))).filter(isStagingFolder), []);
  assert.deepEqual(await lookAgain(place.folder, planted), planted);
  assert.deepEqual(await catalog.leases.list('write:'), []);
});

function isOurs(path: string, entry: Entry): boolean {
  const [first, ...inStore] = path.split('/');
  return first === 'objects' ? isOursInStore(inStore.join('/'), entry) : path === 'staging' || path === 'objects';
}

/** A writer's folder, not the planted file with such a name. */
function isStagingFolder(name: string): boolean {
  return isStagingName(name) && name !== `${ULID}.7`;
}

/** @returns how long the publish took, from its beginning, and the signal that ended it */
async function publishOnce(
  folder: string,
  file: string,
  killAfterMillis: number | undefined,
): Promise<{ readonly millis: number; readonly signal: string | null }> {
  const script = join(import.meta.dirname, 'publish-once.ts');
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script, folder, file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exit = once(child, 'exit');
  await Promise.race([once(child.stdout, 'data'), exit]);
  const beganAt = performance.now();
  if (killAfterMillis !== undefined) {
    const stop = new AbortController();
    await Promise.race([delay(killAfterMillis, undefined, { signal: stop.signal }).catch(() => undefined), exit]);
    stop.abort();
    child.kill('SIGKILL');
  }
  const [code, signal] = await exit;
  if (signal === null) assert.equal(code, 0);
  return { millis: performance.now() - beganAt, signal };
}
