/** What the store in S3 makes of a server that cannot be found, or whose answers are odd. */
import assert from 'node:assert/strict';
import dns from 'node:dns';
import { test } from 'node:test';
import { storeAt } from '../../../test/fake-s3.ts';
import { StoreUnavailable } from '../../errors/store-unavailable.ts';

test('a name server that is away is a store that cannot be reached at the moment', async (t) => {
  t.mock.method(dns, 'lookup', (name: string, _: unknown, found: (error: Error) => void) => {
    found(Object.assign(new Error(`getaddrinfo EAI_AGAIN ${name}`), { code: 'EAI_AGAIN', syscall: 'getaddrinfo' }));
  });
  const store = await storeAt(t, 'http://s3.example.com');
  await assert.rejects(store.findInstallation(), StoreUnavailable);
});
