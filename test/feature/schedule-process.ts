/**
 * One process of a service, reduced to its schedule. schedule-processes.test.ts runs it, and ends it by force. Its clock stands
 * still until a message tells the time. It answers `idle` when the schedule has done what was due and sleeps. It prints `kind
 * execution` for everything that happens; an owner called `hang…` never ends a refresh.
 *
 *     node schedule-process.ts CATALOG STAGING OWNER EPOCH
 */
import { setTimeout as wait } from 'node:timers/promises';
import { ulid } from 'ulid';
import { openSqliteCatalog } from '../../src/catalog/sqlite/sqlite-catalog.ts';
import { columnsOf, type Dataset } from '../../src/datasets/dataset.ts';
import { registerDatasets } from '../../src/datasets/register.ts';
import type { Sleep } from '../../src/domain/time.ts';
import { runSchedule } from '../../src/scheduler/schedule.ts';
import { FakeTime } from '../fake-time.ts';

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
await using catalog = await openSqliteCatalog(path, { sleep });
await registerDatasets(catalog, [dataset], clock());
await runSchedule(
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
    publish: async ({ executionId }) => {
      const lease = await catalog.leases.acquire(`write:${executionId}`, owner, clock(), 60_000);
      if (lease === undefined) throw new Error('the write lease is taken');
      const now = clock();
      const resultSet = { columns, rowCount: 0, cellBytes: 0, truncated: false, parts: [] };
      const completion = { startedAt: now, endedAt: now, expiresAt: now + 1e10, resultSet };
      return await catalog.executions.complete(executionId, completion, lease);
    },
    datasets: [dataset],
    isSetUp: async () => true,
    queries: { list: async () => [], submit: async () => undefined },
    tasks: [],
    clock,
    sleep,
    owner,
    isLeaseOwnerDead: () => false,
    leaseMillis: 30_000,
    pollMillis: 5_000,
    newExecutionId: (now) => ulid(now),
    stagingDirectory,
    observe: ({ kind, executionId }) => process.stdout.write(`${kind} ${executionId}\n`),
    afterRefresh: async () => {},
    onFault: (what, error) => process.stdout.write(`fault ${what}: ${error}\n`),
  },
  stopping.signal,
);
// The channel would keep the process alive.
process.disconnect?.();
