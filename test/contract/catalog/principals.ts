/** Users, teams, keys and queries. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CatalogConflict } from '../../../src/catalog/catalog.ts';
import type { Owner } from '../../../src/domain/principal.ts';
import { type CatalogFactory, NOON, openWithQuery } from './fixture.ts';

const ANN: Owner = { kind: 'user', name: 'ann' };
const CREW: Owner = { kind: 'team', name: 'crew' };
const HASH = '0123456789abcdef'.repeat(4);

function conflict(message: string) {
  return (error: unknown) => {
    assert(error instanceof CatalogConflict);
    assert.equal(error.message, message);
    return true;
  };
}

export function principalsContract(prepare: CatalogFactory): void {
  test('users are listed by name', async (t) => {
    const open = await prepare(t);
    const { principals } = await open();
    await principals.addUser('zoe', NOON);
    await principals.addUser('ann', NOON + 1);
    assert.deepEqual(await principals.listUsers(), [
      { name: 'ann', createdAt: NOON + 1 },
      { name: 'zoe', createdAt: NOON },
    ]);
  });

  test('a name is taken once', async (t) => {
    const { principals } = await openWithQuery(prepare, t);
    await assert.rejects(principals.addUser('ann', NOON), conflict('there is a user "ann" already'));
    await assert.rejects(principals.addTeam('crew', [], NOON), conflict('there is a team "crew" already'));
  });

  test('a user and a team may have the same name', async (t) => {
    const { principals } = await openWithQuery(prepare, t);
    await principals.addTeam('ann', [], NOON);
    await principals.addUser('crew', NOON);
  });

  test('a team has its members, each once', async (t) => {
    const { principals } = await openWithQuery(prepare, t);
    await principals.addUser('bob', NOON);
    await principals.addTeam('all', ['bob', 'ann', 'bob'], NOON);
    assert.deepEqual(await principals.listTeams(), [
      { name: 'all', members: ['ann', 'bob'], createdAt: NOON },
      { name: 'crew', members: ['ann'], createdAt: NOON },
    ]);
  });

  test('a team with an unknown member is not added at all', async (t) => {
    const { principals } = await openWithQuery(prepare, t);
    await assert.rejects(principals.addTeam('new', ['ann', 'nobody'], NOON), conflict('there is no user "nobody"'));
    assert.deepEqual(
      (await principals.listTeams()).map((team) => team.name),
      ['crew'],
    );
  });

  test("a user's key acts for the user and the teams of the user", async (t) => {
    const { principals } = await openWithQuery(prepare, t);
    await principals.addTeam('board', ['ann'], NOON);
    await principals.addKey({ id: 'k1', hash: HASH, owner: ANN, name: 'laptop', createdAt: NOON });
    assert.deepEqual(await principals.findPrincipalByKeyHash(HASH), {
      principal: { keyId: 'k1', owner: ANN, teams: ['board', 'crew'] },
      hash: HASH,
    });
  });

  test("a team's key acts for the team alone", async (t) => {
    const { principals } = await openWithQuery(prepare, t);
    await principals.addKey({ id: 'k1', hash: HASH, owner: CREW, createdAt: NOON });
    assert.deepEqual(await principals.findPrincipalByKeyHash(HASH), {
      principal: { keyId: 'k1', owner: CREW, teams: ['crew'] },
      hash: HASH,
    });
  });

  test('a user without a team acts for no team', async (t) => {
    const { principals } = await openWithQuery(prepare, t);
    await principals.addUser('bob', NOON);
    await principals.addKey({ id: 'k1', hash: HASH, owner: { kind: 'user', name: 'bob' }, createdAt: NOON });
    const found = await principals.findPrincipalByKeyHash(HASH);
    assert.deepEqual(found?.principal.teams, []);
  });

  test('a key needs an owner that is there, and an id and a hash of its own', async (t) => {
    const { principals } = await openWithQuery(prepare, t);
    const key = { id: 'k1', hash: HASH, owner: ANN, createdAt: NOON };
    await assert.rejects(
      principals.addKey({ ...key, owner: { kind: 'team', name: 'ann' } }),
      conflict('there is no team "ann"'),
    );
    await principals.addKey(key);
    await assert.rejects(principals.addKey({ ...key, hash: 'other' }), CatalogConflict);
    await assert.rejects(principals.addKey({ ...key, id: 'k2' }), CatalogConflict);
  });

  test('a revoked key is nobody’s, stays listed, and is revoked once', async (t) => {
    const { principals } = await openWithQuery(prepare, t);
    const key = { id: 'k1', hash: HASH, owner: ANN, name: 'laptop', createdAt: NOON };
    await principals.addKey(key);
    assert.deepEqual(await principals.listKeys(), [key]);
    assert.equal(await principals.revokeKey('k1', NOON + 5), true);
    assert.equal(await principals.findPrincipalByKeyHash(HASH), undefined);
    assert.equal(await principals.revokeKey('k1', NOON + 6), false);
    assert.deepEqual(await principals.listKeys(), [{ ...key, revokedAt: NOON + 5 }]);
    assert.equal(await principals.revokeKey('k9', NOON), false);
  });

  test('an unknown hash is nobody’s', async (t) => {
    const { principals } = await openWithQuery(prepare, t);
    assert.equal(await principals.findPrincipalByKeyHash(HASH), undefined);
  });

  test('queries are found as they were added, and listed by id', async (t) => {
    const { queries } = await openWithQuery(prepare, t);
    const named = { id: 3, name: 'Größe 尺寸', owner: CREW, visibility: 'private' } as const;
    await queries.add(named, NOON);
    assert.deepEqual(await queries.find(3), named);
    assert.equal(await queries.find(4), undefined);
    assert.deepEqual(await queries.list(), [named, { id: 7, owner: ANN, visibility: 'public' }]);
  });

  test('a query needs an id of its own and an owner that is there', async (t) => {
    const { queries } = await openWithQuery(prepare, t);
    await assert.rejects(
      queries.add({ id: 7, owner: CREW, visibility: 'public' }, NOON),
      conflict('there is a query 7 already'),
    );
    await assert.rejects(
      queries.add({ id: 8, owner: { kind: 'user', name: 'crew' }, visibility: 'public' }, NOON),
      conflict('there is no user "crew"'),
    );
  });
}
