/**
 * Runs what is due and what waits in the queue, in a process of its own, so that a test can kill it: `run-queued.ts FOLDER NOW`. `NOW` is
 * the time of its schedule. Prints when it begins, and which runs it has begun and ended. Ends when nothing is due or left to run.
 */
import { join } from 'node:path';
import { monotonicFactory } from 'ulid';
import { openSqliteCatalog } from '../../src/catalog/sqlite/sqlite-catalog.ts';
import { DuckDbEngine } from '../../src/engine/duckdb/duckdb-engine.ts';
import { currentLeaseOwner, isLeaseOwnerDead } from '../../src/leases/lease-owner.ts';
import { publish } from '../../src/publishing/publish.ts';
import { RunQueue } from '../../src/runs/run-queue.ts';
import { runQueued } from '../../src/runs/runner.ts';
import { Schedule } from '../../src/scheduler/schedule.ts';
import { LocalResultStore } from '../../src/store/local/local-result-store.ts';
import { sleep } from '../real-time.ts';
import { KILLED_DATASET } from './killed-dataset.ts';

const [folder = '', now = ''] = process.argv.slice(2);
const scheduleClock = () => Number(now);
const newExecutionId = monotonicFactory();
const stagingDirectory = join(folder, 'objects', 'staging');
await using catalog = await openSqliteCatalog(join(folder, 'catalog.db'), { clock: Date.now, sleep });
await using engine = new DuckDbEngine({
  sourcesDirectory: join(folder, 'sources'),
  tempDirectory: join(folder, 'temp'),
  threads: 1,
  memoryBytes: 256_000_000,
  tempBytesMax: 1e9,
  resultBytesMax: 1e9,
  timeLimitMillis: 60_000,
  sleep,
});
const dependencies = {
  catalog,
  store: await LocalResultStore.open(join(folder, 'objects')),
  stagingDirectory,
  memoryLimit: '512MB',
  tempSizeMax: '1GB',
  random: Math.random,
  clock: Date.now,
  sleep,
  newId: () => newExecutionId(Date.now()),
  owner: currentLeaseOwner(),
};
const layout = { rowGroupRows: 2048, rowGroupsPerPart: 4, preSampleRows: 1000, bloomBytesMin: 0 };
const options = { ...layout, resultBytesMax: 1e9, retentionDays: 36_500, leaseMillis: 30_000 };
const limits = { waitingMax: 1000, waitingOfKeyMax: 1000 };
const idle = new AbortController();
const onFault = (what: string, error: unknown) => process.stderr.write(`${what}: ${error}\n`);
const queue = new RunQueue({ catalog, clock: scheduleClock, newExecutionId, limits, coalesce: false });
const schedule = new Schedule({
  catalog,
  clock: scheduleClock,
  sleep,
  queries: {
    list: async () => {
      const queries = await catalog.queries.list({ runsOnSchedule: true });
      return queries.map((query) => ({ query, since: 0, isSetUp: async () => true }));
    },
    submit: async (query, tick) => (await queue.submitScheduled({ query, tick, isLimited: false })) !== undefined,
  },
  tasks: [],
  pollMillis: 1000,
  onFault,
});
process.stdout.write('begin\n');
await schedule.runDue(idle.signal);
await runQueued(
  {
    catalog,
    engine,
    sources: [],
    findDataset: async (id) => (id === KILLED_DATASET.queryId ? KILLED_DATASET : undefined),
    publish: async ({ executionId, queryId, path, types, lease, giveUp }, signal) => {
      const source = { kind: 'file', path } as const;
      const request = { queryId, executionId, source, format: 'parquet', types, held: { lease, giveUp } } as const;
      return await publish(dependencies, request, options, signal);
    },
    stagingDirectory,
    queue,
    clock: Date.now,
    sleep,
    owner: dependencies.owner,
    isLeaseOwnerDead,
    leaseMillis: options.leaseMillis,
    runningMax: 1,
    runningOfKeyMax: 1,
    pollMillis: 50,
    observe: async ({ kind, executionId }) => {
      process.stdout.write(`${kind} ${executionId}\n`);
      if (kind === 'started') return;
      // A tick that came while a run of before went on is free to be claimed now.
      await schedule.runDue(idle.signal);
      const { waiting, running } = await catalog.runs.count();
      if (waiting + running === 0) idle.abort();
    },
    onFault,
  },
  idle.signal,
);
