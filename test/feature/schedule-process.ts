/**
 * One process of a service, reduced to its schedule and its runner. schedule-processes.test.ts runs it, and ends it by force. Its clock
 * stands still until a message tells the time. It answers `idle` when what was due has been done and the schedule sleeps. It prints
 * `kind execution` for everything that happens; an owner called `hang…` never ends a refresh.
 *
 *     node schedule-process.ts CATALOG STAGING OWNER EPOCH
 */
import { setTimeout as wait } from 'node:timers/promises';
import { ulid } from 'ulid';
import { openSqliteCatalog } from '../../src/catalog/sqlite/sqlite-catalog.ts';
import { columnsOf, type Dataset } from '../../src/datasets/dataset.ts';
import { registerDatasets } from '../../src/datasets/register.ts';
import type { Sleep } from '../../src/domain/time.ts';
import { RunQueue } from '../../src/runs/run-queue.ts';
import { Runner } from '../../src/runs/runner.ts';
import { runSchedule } from '../../src/scheduler/schedule.ts';
import { FakeTime } from '../fake-time.ts';
import { sleep as realSleep } from '../real-time.ts';

const [path = '', stagingDirectory = '', owner = '', epoch = ''] = process.argv.slice(2);
const time = new FakeTime(Number(epoch));
const { clock } = time;
const columns = columnsOf({ n: 'bigint' });
const dataset: Dataset = {
  name: 'each-minute',
  title: 'Every minute',
  path: '/v1/test/each-minute',
  queryId: 990_000_101,
  schedule: '* * * * *',
  columns,
  meanings: {},
  sources: [],
  sqlFile: new URL('file:///none.sql'),
  fragments: {},
  sql: 'SELECT 1 AS n',
};

const stopping = new AbortController();
process.on('SIGTERM', () => stopping.abort());
let isIdle = false;
let sleeps = 0;
/** Both the schedule and the lease keeper sleep; the test waits only for the schedule. */
const sleep: Sleep = async (millis, signal) => {
  const slept = time.sleep(millis, signal);
  if (signal !== stopping.signal) return await slept;
  isIdle = true;
  sleeps += 1;
  process.send?.('idle');
  await slept.finally(() => {
    isIdle = false;
  });
};
process.on('message', (now: number) => {
  const before = sleeps;
  time.moveTo(now);
  // A sleeper that was woken is no longer idle by then, or has reported it.
  setImmediate(() => {
    if (isIdle && sleeps === before) process.send?.('idle');
  });
});
// A database that another process holds for a moment is waited for in real time.
await using catalog = await openSqliteCatalog(path, { clock, sleep: realSleep });
await registerDatasets(catalog, [dataset], clock());
const limits = { waitingMax: 10, waitingOfKeyMax: 10 };
const queue = new RunQueue({ catalog, clock, newExecutionId: (now) => ulid(now), limits, coalesce: false });
const onFault = (what: string, error: unknown) => process.stdout.write(`fault ${what}: ${error}\n`);
const runner = new Runner(
  {
    catalog,
    engine: {
      materialize: async (_query, _path, signal) => {
        if (owner.startsWith('hang')) await wait(3_600_000, undefined, { signal });
        return { columns, rowCount: 0 };
      },
      check: async () => undefined,
      hasAny: async () => true,
      async [Symbol.asyncDispose]() {},
    },
    sources: [],
    findDataset: async () => dataset,
    publish: async ({ executionId, lease }) => {
      const now = clock();
      const resultSet = { columns, rowCount: 0, cellBytes: 0, truncated: false, parts: [] };
      const completion = { startedAt: now, endedAt: now, expiresAt: now + 1e10, resultSet };
      return await catalog.executions.complete(executionId, completion, lease.current);
    },
    queue,
    clock,
    sleep,
    owner,
    isLeaseOwnerDead: () => false,
    leaseMillis: 30_000,
    runningMax: 1,
    runningOfKeyMax: 1,
    pollMillis: 5_000,
    stagingDirectory,
    observe: ({ kind, executionId }) => process.stdout.write(`${kind} ${executionId}\n`),
    onFault,
  },
  stopping.signal,
);
await runSchedule(
  {
    catalog,
    queries: {
      list: async () => {
        const queries = await catalog.queries.list({ runsOnSchedule: true });
        return queries.map((query) => ({ query, since: 0, isSetUp: async () => true }));
      },
      submit: async (query, tick) => (await queue.submitScheduled({ query, tick, isLimited: false })) !== undefined,
    },
    tasks: [],
    clock,
    sleep: async (millis, signal) => {
      await runner.look();
      // One that hangs is not waited for.
      if (!owner.startsWith('hang')) await runner.drained();
      await sleep(millis, signal);
    },
    pollMillis: 5_000,
    onFault,
  },
  stopping.signal,
);
// The channel would keep the process alive.
process.disconnect?.();
