/** A publisher killed with SIGKILL at a random moment leaves a result or none, never half of one, and the sweep cleans up. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { openSqliteCatalog } from '../../src/catalog/sqlite/sqlite-catalog.ts';
import { sweep } from '../../src/publishing/sweep.ts';
import { verify } from '../../src/publishing/verify.ts';
import { NEVER, Workplace } from './publishing.ts';

const KILLS = 30;
const ROWS = 60_000;

test(`killed ${KILLS} times at random moments, no half result is ever visible and the sweep leaves nothing behind`, async () => {
  await using place = await Workplace.open();
  const lines = Array.from({ length: ROWS }, (_, i) => `${i},name ${i * 7919},${i / 8}\n`);
  const file = await place.write('input.csv', `id,name,share\n${lines.join('')}`);

  const untilWhole = await publishOnce(place.folder, file, undefined);
  assert.equal(untilWhole.signal, null);
  for (let kill = 0; kill < KILLS; kill += 1) {
    await publishOnce(place.folder, file, Math.random() * untilWhole.millis * 1.05);
  }

  // As a process that starts after the crash would.
  await using catalog = await openSqliteCatalog(join(place.folder, 'catalog.db'));
  const dependencies = { ...place.dependencies, catalog };
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
  // Eight parts and the pre-sample.
  assert.equal(checked.length, executions.length * 9);
  const stored = await Array.fromAsync(place.store.list(''), (object) => object.key);
  assert.deepEqual(stored.sort(), checked.map((object) => object.key).sort());
  assert.deepEqual(await readdir(join(place.folder, 'objects', 'staging')), []);
  assert.deepEqual(await catalog.leases.list('write:'), []);
});

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
