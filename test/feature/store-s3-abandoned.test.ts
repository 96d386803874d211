/** What a sweep does with uploads in parts to S3 that have not ended: those of writers who died, and those of writers who go on. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { CreateMultipartUploadCommand, ListMultipartUploadsCommand } from '@aws-sdk/client-s3';
import type { Leases } from '../../src/catalog/catalog.ts';
import { writeResource } from '../../src/domain/lease-names.ts';
import { partKey, writerPrefix } from '../../src/domain/written-names.ts';
import { type SweepDependencies, sweep } from '../../src/maintenance/sweep.ts';
import { s3Client } from '../../src/store/s3/s3-client.ts';
import { S3ResultStore } from '../../src/store/s3/s3-result-store.ts';
import { S3_ENVIRONMENT, S3_MISSING, S3Server } from '../s3-server.ts';
import { NEVER, Workplace } from './publishing.ts';

const PREFIX = 'results/';
const DEAD = '01HR7V4N7VD2Q9D9Z5T2T6W3M1';
const ALIVE = '01HR7V4N7VD2Q9D9Z5T2T6W3M2';

async function openBucket(t: TestContext, place: Workplace) {
  Object.assign(process.env, S3_ENVIRONMENT);
  const server = await S3Server.start();
  const { endpoint, bucket } = server;
  t.after(async () => await server[Symbol.asyncDispose]());
  const client = s3Client({ endpoint });
  t.after(() => client.destroy());
  const store = new S3ResultStore({ bucket, prefix: PREFIX, endpoint, cacheFolder: place.folder, cacheBytesMax: 1e9 });
  t.after(async () => await store[Symbol.asyncDispose]());
  await store.setInstallation((await place.store.findInstallation()) ?? '');
  const begin = async (key: string) =>
    void (await client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key: PREFIX + key })));
  const listBegun = async () => {
    const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
    return Uploads.map(({ Key = '' }) => Key.slice(PREFIX.length)).sort();
  };
  return { store, begin, listBegun };
}

/** Leases of which `onListed` is told when all have been listed. */
function telling(leases: Leases, onListed: () => Promise<void>): Leases {
  return {
    acquire: (...given) => leases.acquire(...given),
    renew: (...given) => leases.renew(...given),
    release: (lease) => leases.release(lease),
    revoke: (lease) => leases.revoke(lease),
    list: async (prefix) => {
      const listed = await leases.list(prefix);
      if (prefix === '') await onListed();
      return listed;
    },
  };
}

test('a sweep ends uploads of dead writers, and none that began after it had listed who writes', {
  skip: S3_MISSING ?? false,
}, async (t) => {
  await using place = await Workplace.open();
  const { store, begin, listBegun } = await openBucket(t, place);
  await begin(partKey(`${DEAD}/7/`, 0));
  await begin('notes/of-somebody-else');
  let writing = '';
  const { catalog } = place.dependencies;
  const leases = telling(catalog.leases, async () => {
    const lease = await catalog.leases.acquire(writeResource(ALIVE), 'another host|x|1|1', 60_000);
    assert.ok(lease);
    writing = partKey(writerPrefix(lease), 0);
    await begin(writing);
  });
  const { executions, idempotencyKeys, installation, webhooks } = catalog;
  const told: SweepDependencies['catalog'] = {
    executions,
    idempotencyKeys,
    installation,
    webhooks,
    leases,
    now: async () => await catalog.now(),
    verify: async () => await catalog.verify(),
  };
  await sweep({ ...place.dependencies, catalog: told, store }, 100, NEVER);
  assert.deepEqual(await listBegun(), [writing, 'notes/of-somebody-else']);
});
