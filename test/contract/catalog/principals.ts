/** Users, teams and keys. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CatalogConflict } from '../../../src/catalog/catalog.ts';
import type { Owner } from '../../../src/domain/principal.ts';
import { type CatalogFactory, conflict, NOON, openWithQuery } from './fixture.ts';

const ANN: Owner = { kind: 'user', name: 'ann' };
const CREW: Owner = { kind: 'team', name: 'crew' };
const HASH = '0123456789abcdef'.repeat(4);

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

  test('two users cannot have the same name', async (t) => {
    const { principals } = await openWithQuery(prepare, t);
    await assert.rejects(principals.addUser('ann', NOON), conflict('there is a user "ann" already'));
    await assert.rejects(principals.addTeam('crew', [], NOON), conflict('there is a team "crew" already'));
  });

  test('a user and a team may have the same name', async (t) => {
    const { principals } = await openWithQuery(prepare, t);
    await principals.addTeam('ann', [], NOON);
    await principals.addUser('crew', NOON);
  });

  test('a team lists each member once', async (t) => {
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
      principal: { keyId: 'k1', owner: ANN, teams: ['board', 'crew'], scope: 'read' },
      hash: HASH,
    });
  });

  test("a team's key acts for the team alone", async (t) => {
    const { principals } = await openWithQuery(prepare, t);
    await principals.addKey({ id: 'k1', hash: HASH, owner: CREW, createdAt: NOON });
    assert.deepEqual(await principals.findPrincipalByKeyHash(HASH), {
      principal: { keyId: 'k1', owner: CREW, teams: ['crew'], scope: 'read' },
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

  test('a key needs an existing owner, and an id and a hash of its own', async (t) => {
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

  test('a revoked key authenticates nobody, stays listed, and is revoked once', async (t) => {
    const { principals } = await openWithQuery(prepare, t);
    const key = { id: 'k1', hash: HASH, owner: ANN, name: 'laptop', createdAt: NOON };
    await principals.addKey(key);
    assert.deepEqual(await principals.listKeys(), [{ ...key, scope: 'read' }]);
    const principal = { keyId: 'k1', owner: ANN, teams: ['crew'], scope: 'read' };
    assert.deepEqual(await principals.findPrincipalByKeyId('k1'), principal);
    assert.equal(await principals.revokeKey('k1', NOON + 5), true);
    assert.equal(await principals.findPrincipalByKeyHash(HASH), undefined);
    assert.equal(await principals.findPrincipalByKeyId('k1'), undefined);
    assert.equal(await principals.revokeKey('k1', NOON + 6), false);
    assert.deepEqual(await principals.listKeys(), [{ ...key, scope: 'read', revokedAt: NOON + 5 }]);
    assert.equal(await principals.revokeKey('k9', NOON), false);
  });

  test('a share is a key that is bound: found and revoked as keys are, and listed apart, with its query', async (t) => {
    const { principals } = await openWithQuery(prepare, t);
    const key = { id: 'k1', hash: HASH, owner: ANN, createdAt: NOON };
    const whole = { ...key, id: 's1', hash: HASH.replace('0', '1'), createdAt: NOON + 1, share: { queryId: 7 } };
    const bound = {
      queryId: 8,
      executionId: '01HR7V4N7VD2Q9D9Z5T2T6W3M1',
      columns: ['a', 'b "c"'],
      filters: "a = 'é'",
    };
    const some = {
      ...key,
      id: 's2',
      hash: HASH.replace('0', '2'),
      createdAt: NOON + 2,
      expiresAt: NOON + 9,
      share: bound,
    };
    for (const added of [key, some, whole]) await principals.addKey(added);
    const scope = 'read' as const;
    assert.deepEqual(await principals.listKeys(), [{ ...key, scope }]);
    assert.deepEqual(await principals.listShares(), [
      { ...whole, scope },
      { ...some, scope },
    ]);
    assert.deepEqual(await principals.listShares(8), [{ ...some, scope }]);
    assert.deepEqual(await principals.listShares(9), []);
    const found = await principals.findPrincipalByKeyHash(some.hash);
    const principal = { keyId: 's2', owner: ANN, teams: ['crew'], scope, expiresAt: NOON + 9, share: bound };
    assert.deepEqual(found, { hash: some.hash, principal });
    assert.equal(await principals.revokeKey('s2', NOON + 5), true);
    assert.equal(await principals.findPrincipalByKeyHash(some.hash), undefined);
    assert.deepEqual(await principals.listShares(8), [{ ...some, scope, revokedAt: NOON + 5 }]);
  });

  test('an unknown hash belongs to nobody', async (t) => {
    const { principals } = await openWithQuery(prepare, t);
    assert.equal(await principals.findPrincipalByKeyHash(HASH), undefined);
  });

  test('a key has the scope and expiry it was made with; without them, scope read and no expiry', async (t) => {
    const { principals } = await openWithQuery(prepare, t);
    const key = { id: 'k1', hash: HASH, owner: ANN, scope: 'write', createdAt: NOON, expiresAt: NOON + 9 } as const;
    await principals.addKey(key);
    await principals.addKey({ id: 'k2', hash: 'other', owner: ANN, createdAt: NOON });
    assert.deepEqual(await principals.listKeys(), [
      key,
      { id: 'k2', hash: 'other', owner: ANN, scope: 'read', createdAt: NOON },
    ]);
    const found = await principals.findPrincipalByKeyHash(HASH);
    assert.deepEqual(found?.principal, {
      keyId: 'k1',
      owner: ANN,
      teams: ['crew'],
      scope: 'write',
      expiresAt: NOON + 9,
    });
  });

  test("a key's last use is kept, and does not change the catalog's version", async (t) => {
    const catalog = await openWithQuery(prepare, t);
    const { principals } = catalog;
    await principals.addKey({ id: 'k1', hash: HASH, owner: ANN, createdAt: NOON });
    const version = await catalog.version();
    await principals.recordKeyUses([]);
    await principals.recordKeyUses([{ keyId: 'k1', at: NOON + 8 }]);
    await principals.recordKeyUses([{ keyId: 'k1', at: NOON + 5 }]);
    assert.equal((await principals.listKeys())[0]?.lastUsedAt, NOON + 8);
    assert.equal(await catalog.version(), version);
  });

  test('a use of a key that is not there, as after a failover that lost it, keeps no other from being recorded', async (t) => {
    const { principals } = await openWithQuery(prepare, t);
    await principals.addKey({ id: 'k1', hash: HASH, owner: ANN, createdAt: NOON });
    await principals.recordKeyUses([
      { keyId: 'lost', at: NOON + 7 },
      { keyId: 'k1', at: NOON + 8 },
    ]);
    assert.deepEqual(
      (await principals.listKeys()).map(({ id, lastUsedAt }) => [id, lastUsedAt]),
      [['k1', NOON + 8]],
    );
  });

  test("a member joins and leaves a team, and the member's keys act for the team in between", async (t) => {
    const { principals } = await openWithQuery(prepare, t);
    await principals.addUser('bob', NOON);
    await principals.addKey({ id: 'k1', hash: HASH, owner: { kind: 'user', name: 'bob' }, createdAt: NOON });
    const teams = async () => (await principals.findPrincipalByKeyHash(HASH))?.principal.teams;
    assert.equal(await principals.addTeamMember('crew', 'bob'), true);
    assert.equal(await principals.addTeamMember('crew', 'bob'), false);
    assert.deepEqual(await teams(), ['crew']);
    assert.deepEqual((await principals.listTeams())[0]?.members, ['ann', 'bob']);
    assert.equal(await principals.removeTeamMember('crew', 'bob'), true);
    assert.equal(await principals.removeTeamMember('crew', 'bob'), false);
    assert.deepEqual(await teams(), []);
    await assert.rejects(principals.addTeamMember('crew', 'nobody'), conflict('there is no user "nobody"'));
    await assert.rejects(principals.addTeamMember('none', 'bob'), conflict('there is no team "none"'));
    await assert.rejects(principals.removeTeamMember('none', 'bob'), conflict('there is no team "none"'));
  });

  test('a removed user has no keys and no teams, not even when added again', async (t) => {
    const { principals } = await openWithQuery(prepare, t);
    const BOB: Owner = { kind: 'user', name: 'bob' };
    await principals.addUser('bob', NOON);
    await principals.addTeamMember('crew', 'bob');
    await principals.addKey({ id: 'k1', hash: HASH, owner: BOB, createdAt: NOON });
    await principals.removeUser('bob', NOON + 3);
    assert.equal(await principals.findPrincipalByKeyHash(HASH), undefined);
    assert.equal((await principals.listKeys())[0]?.revokedAt, NOON + 3);
    assert.deepEqual((await principals.listTeams())[0]?.members, ['ann']);
    assert.deepEqual(
      (await principals.listUsers()).map(({ name }) => name),
      ['ann'],
    );
    await assert.rejects(principals.removeUser('bob', NOON), conflict('there is no user "bob"'));
    await assert.rejects(principals.addTeamMember('crew', 'bob'), conflict('there is no user "bob"'));
    const another = { id: 'k2', hash: 'other', owner: BOB, createdAt: NOON };
    await assert.rejects(principals.addKey(another), conflict('there is no user "bob"'));
    await principals.addUser('bob', NOON + 4);
    assert.deepEqual(await principals.listUsers(), [
      { name: 'ann', createdAt: NOON },
      { name: 'bob', createdAt: NOON + 4 },
    ]);
    assert.equal(await principals.findPrincipalByKeyHash(HASH), undefined);
  });

  test('a user who owns queries is not removed and loses nothing', async (t) => {
    const { principals, queries } = await openWithQuery(prepare, t);
    await principals.addKey({ id: 'k1', hash: HASH, owner: ANN, createdAt: NOON });
    await assert.rejects(
      principals.removeUser('ann', NOON),
      conflict('the user "ann" owns query 7: give it to another owner first, or only revoke the user\'s keys'),
    );
    for (let id = 8; id < 15; id += 1) await queries.add({ id, owner: ANN, visibility: 'public' }, NOON);
    await assert.rejects(principals.removeUser('ann', NOON), /owns queries 7, 8, 9, 10, 11 and 3 more: /);
    const found = await principals.findPrincipalByKeyHash(HASH);
    assert.deepEqual(found?.principal.teams, ['crew']);
  });
}
