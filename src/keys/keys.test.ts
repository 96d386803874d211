import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { sleep } from '../../test/real-time.ts';
import { openSqliteCatalog } from '../catalog/sqlite/sqlite-catalog.ts';
import { createKey } from './create-key.ts';
import { findPrincipal } from './find-principal.ts';
import { hashKey, sameHash } from './key-hash.ts';

test('a hash is the hex SHA-256 of the whole key text', () => {
  assert.equal(hashKey('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

test('hashes are compared', () => {
  assert.equal(sameHash(hashKey('a'), hashKey('a')), true);
  assert.equal(sameHash(hashKey('a'), hashKey('b')), false);
  assert.equal(sameHash(hashKey('a'), ''), false);
});

test('a created key finds its principal until it is revoked; the catalog never sees its text', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'qrs-keys-'));
  t.after(async () => await rm(directory, { recursive: true, force: true }));
  await using catalog = await openSqliteCatalog(join(directory, 'catalog.sqlite'), { clock: Date.now, sleep });
  const { principals } = catalog;
  await principals.addUser('ann', 0);
  const owner = { kind: 'user', name: 'ann' } as const;
  const { id, key } = await createKey(principals, owner, { name: 'laptop' }, 5, (length) =>
    new Uint8Array(length).fill(7),
  );
  const [stored] = await principals.listKeys();
  assert.deepEqual(stored, { id, hash: hashKey(key), owner, name: 'laptop', scope: 'read', createdAt: 5 });
  assert.deepEqual(await findPrincipal(principals, key), { keyId: id, owner, teams: [], scope: 'read' });
  assert.equal(await findPrincipal(principals, `${key.slice(0, -1)}0`), undefined);
  assert.equal(await findPrincipal(principals, ''), undefined);
  await principals.revokeKey(id, 6);
  assert.equal(await findPrincipal(principals, key), undefined);
});
