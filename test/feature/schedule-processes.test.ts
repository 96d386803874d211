/** The schedule in several real processes on one catalog, one of which is killed. The test tells them the time. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openSqliteCatalog } from '../../src/catalog/sqlite/sqlite-catalog.ts';
import { sleep } from '../real-time.ts';
import { newFolder } from './dataset-fixture.ts';

const QUERY = 990_000_101;
const MINUTE = 60_000;
const LEASE_MILLIS = 30_000;
/** A second after a tick. */
const EPOCH = Date.parse('2024-03-05T10:00:01Z');
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
  /** Resolves when the line is printed, or at once if it was. */
  readonly printed: (pattern: RegExp) => Promise<void>;
  /** Resolves when its schedule sleeps for the first time. */
  readonly idle: Promise<unknown>;
  /** Moves its clock; resolves when its schedule has done what was due then. */
  readonly moveTo: (now: number) => Promise<void>;
}

function start(directory: string, owner: string): Started {
  const words = [join(directory, 'catalog.sqlite'), join(directory, 'staging'), owner, String(EPOCH)];
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script, ...words], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  children.add(child);
  const lines: string[] = [];
  assert.ok(child.stdout);
  const output = createInterface(child.stdout);
  output.on('line', (line) => lines.push(line));
  const printed = async (pattern: RegExp) => {
    while (!lines.some((line) => pattern.test(line))) await once(output, 'line');
  };
  const moveTo = async (now: number) => {
    const idle = once(child, 'message');
    child.send(now);
    await idle;
  };
  return { child, lines, printed, idle: once(child, 'message'), moveTo };
}

async function stop({ child }: Started): Promise<void> {
  const closed = once(child, 'close');
  child.kill('SIGTERM');
  await closed;
}

test('two processes: each tick is run by one of them, and none twice', { timeout: 300_000 }, async () => {
  const directory = await newFolder();
  const both = [start(directory, 'a'), start(directory, 'b')];
  await Promise.all(both.map(({ idle }) => idle));
  const ticks = 6;
  for (let minute = 1; minute <= ticks; minute += 1) {
    await Promise.all(both.map(({ moveTo }) => moveTo(EPOCH + minute * MINUTE)));
  }
  await Promise.all(both.map(stop));
  await using catalog = await openSqliteCatalog(join(directory, 'catalog.sqlite'), { clock: Date.now, sleep });
  const executions = await catalog.executions.list({ queryId: QUERY, limit: 1000 });
  assert.deepEqual(
    executions.map(({ state, submittedAt }) => [state, submittedAt]).toReversed(),
    Array.from({ length: 1 + ticks }, (_, minute) => ['COMPLETED', EPOCH + minute * MINUTE]),
  );
  const lines = both.flatMap((process) => process.lines);
  assert.deepEqual(
    lines.filter((line) => !/^(started|completed) /.test(line)),
    [],
  );
});

test('when the owner of the lease is killed, the other takes over once the lease has expired', {
  timeout: 300_000,
}, async () => {
  const directory = await newFolder();
  const killed = start(directory, 'hangs');
  await killed.printed(/^started/);
  const other = start(directory, 'b');
  await other.idle;
  const exited = once(killed.child, 'exit');
  killed.child.kill('SIGKILL');
  await exited;
  await other.moveTo(EPOCH + LEASE_MILLIS - 1);
  assert.deepEqual(other.lines, []);
  // It looks every 5 seconds.
  await other.moveTo(EPOCH + LEASE_MILLIS - 1 + 5000);
  await stop(other);
  await using catalog = await openSqliteCatalog(join(directory, 'catalog.sqlite'), { clock: Date.now, sleep });
  const executions = await catalog.executions.list({ queryId: QUERY, limit: 10 });
  assert.deepEqual(
    executions.map(({ state, submittedAt, endedAt }) => [state, submittedAt, endedAt]),
    [['COMPLETED', EPOCH, EPOCH + LEASE_MILLIS - 1 + 5000]],
  );
});
