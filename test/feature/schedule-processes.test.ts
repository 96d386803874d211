/** The schedule in several real processes on one catalog, one of them killed. Their clocks run 100 times as fast as ours. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openSqliteCatalog } from '../../src/catalog/sqlite/sqlite-catalog.ts';
import { newFolder } from './dataset-fixture.ts';

const SPEED = 100;
const QUERY = 990_000_101;
const script = fileURLToPath(new URL('./schedule-process.ts', import.meta.url));

const children = new Set<ChildProcess>();
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  children.clear();
});

interface Started {
  readonly child: ChildProcess;
  /** The lines it has printed. */
  readonly lines: readonly string[];
  /** Resolves when the line is printed, or was. */
  readonly printed: (pattern: RegExp, times?: number) => Promise<void>;
}

function start(directory: string, holder: string, epoch: number): Started {
  const child = spawn(process.execPath, [
    '--disable-warning=ExperimentalWarning',
    script,
    join(directory, 'catalog.sqlite'),
    join(directory, 'staging'),
    holder,
    String(epoch),
    String(SPEED),
  ]);
  children.add(child);
  child.stderr.pipe(process.stderr);
  const lines: string[] = [];
  const output = createInterface(child.stdout);
  output.on('line', (line) => lines.push(line));
  const printed = async (pattern: RegExp, times = 1) => {
    while (lines.filter((line) => pattern.test(line)).length < times) await once(output, 'line');
  };
  return { child, lines, printed };
}

test('two processes: each tick is run by one of them, and none twice', { timeout: 60_000 }, async () => {
  const directory = await newFolder();
  const epoch = Date.now();
  const [a, b] = [start(directory, 'a', epoch), start(directory, 'b', epoch)];
  await Promise.race([a.printed(/^refreshed/, 6), b.printed(/^refreshed/, 6)]);
  for (const { child } of [a, b]) {
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
  await using catalog = await openSqliteCatalog(join(directory, 'catalog.sqlite'));
  const executions = await catalog.executions.list({ queryId: QUERY, limit: 1000 });
  assert.ok(executions.length >= 6);
  const [newest, oldest] = [executions[0], executions.at(-1)].map((e) =>
    Math.floor((e?.submittedAt ?? Number.NaN) / 60_000),
  );
  const ticks = (newest ?? Number.NaN) - (oldest ?? Number.NaN) + 1;
  // One at the most that was claimed in one minute and begun in the next.
  assert.ok(executions.length <= ticks + 1, `${executions.length} runs of ${ticks} ticks`);
  const lines = [...a.lines, ...b.lines];
  assert.deepEqual(
    lines.filter((line) => !/^(started|refreshed|interrupted) /.test(line)),
    [],
  );
});

test('the one that holds the lease is killed: the other takes over within the lease time', {
  timeout: 60_000,
}, async () => {
  const directory = await newFolder();
  const epoch = Date.now();
  const killed = start(directory, 'hangs', epoch);
  await killed.printed(/^started/);
  const other = start(directory, 'b', epoch);
  killed.child.kill('SIGKILL');
  await once(killed.child, 'exit');
  const died = Date.now();
  await other.printed(/^refreshed/);
  await using catalog = await openSqliteCatalog(join(directory, 'catalog.sqlite'));
  const [orphan, successor] = (await catalog.executions.list({ queryId: QUERY, limit: 10 })).toReversed();
  assert.deepEqual([orphan?.state, orphan?.error?.type], ['FAILED', 'interrupted']);
  assert.equal(successor?.state, 'COMPLETED');
  // 30 s of lease and 5 s between two looks, on a clock that is 100 times as fast; the rest is starting a process.
  const tookOverMillis = (successor?.submittedAt ?? Number.NaN) - (epoch + (died - epoch) * SPEED);
  assert.ok(tookOverMillis <= 35_000 + 1_000 * SPEED, `took over after ${tookOverMillis} ms of its clock`);
});
