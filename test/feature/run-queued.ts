/**
 * Runs what waits in the queue, in a process of its own, so that a test can kill it: `run-queued.ts FOLDER`. Prints when it
 * begins, and which runs it has begun and ended. Ends when nothing is left to run.
 */
import { join } from 'node:path';
import { ulid } from 'ulid';
import { openSqliteCatalog } from '../../src/catalog/sqlite/sqlite-catalog.ts';
import { DuckDbEngine } from '../../src/engine/duckdb/duckdb-engine.ts';
import { currentLeaseOwner, isLeaseOwnerDead } from '../../src/leases/lease-owner.ts';
import { publish } from '../../src/publishing/publish.ts';
import { RunQueue } from '../../src/runs/run-queue.ts';
import { runQueued } from '../../src/runs/runner.ts';
import { LocalResultStore } from '../../src/store/local/local-result-store.ts';
import { sleep } from '../real-time.ts';

const [folder = ''] = process.argv.slice(2);
const stagingDirectory = join(folder, 'objects', 'staging');
await using catalog = await openSqliteCatalog(join(folder, 'catalog.db'), { sleep });
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
  newId: ulid,
  owner: currentLeaseOwner(),
};
const layout = { rowGroupRows: 2048, rowGroupsPerPart: 4, preSampleRows: 1000 };
const options = { ...layout, resultBytesMax: 1e9, retentionDays: 90, leaseMillis: 30_000 };
const limits = { waitingMax: 1000, waitingOfKeyMax: 1000 };
const idle = new AbortController();
process.stdout.write('begin\n');
await runQueued(
  {
    catalog,
    engine,
    sources: [],
    publish: async ({ executionId, queryId, path, types, lease, giveUp }, signal) => {
      const source = { kind: 'file', path } as const;
      const request = { queryId, executionId, source, format: 'parquet', types, held: { lease, giveUp } } as const;
      return await publish(dependencies, request, options, signal);
    },
    stagingDirectory,
    queue: new RunQueue({ catalog, clock: Date.now, newExecutionId: () => ulid(), limits, coalesce: false }),
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
      const { waiting, running } = await catalog.runs.count();
      if (kind !== 'started' && waiting + running === 0) idle.abort();
    },
    onFault: (what, error) => process.stderr.write(`${what}: ${error}\n`),
  },
  idle.signal,
);
