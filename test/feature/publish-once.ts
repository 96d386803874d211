/**
 * Publishes a file in a process of its own, so that a test can kill it: `publish-once.ts FOLDER FILE`. Prints a line when it
 * begins.
 */
import { join } from 'node:path';
import { ulid } from 'ulid';
import { openSqliteCatalog } from '../../src/catalog/sqlite/sqlite-catalog.ts';
import { currentLeaseOwner } from '../../src/leases/lease-owner.ts';
import { publish } from '../../src/publishing/publish.ts';
import { LocalResultStore } from '../../src/store/local/local-result-store.ts';
import { sleep } from '../real-time.ts';

const [folder = '', file = ''] = process.argv.slice(2);
await using catalog = await openSqliteCatalog(join(folder, 'catalog.db'), { clock: Date.now, sleep });
const dependencies = {
  catalog,
  store: await LocalResultStore.open(join(folder, 'objects')),
  stagingDirectory: join(folder, 'objects', 'staging'),
  memoryLimit: '512MB',
  tempSizeMax: '1GB',
  random: Math.random,
  clock: Date.now,
  sleep,
  newId: ulid,
  owner: currentLeaseOwner(),
};
process.stdout.write('begin\n');
const { id } = await publish(
  dependencies,
  { queryId: 1, source: { kind: 'file', path: file } },
  {
    rowGroupRows: 2048,
    rowGroupsPerPart: 4,
    preSampleRows: 1000,
    bloomBytesMin: 0,
    resultBytesMax: 1e9,
    retentionDays: 90,
    leaseMillis: 30_000,
  },
  new AbortController().signal,
);
process.stdout.write(`${id}\n`);
