/** `qrs users`, `teams`, `keys`, `queries`: contract §7. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findPrincipal } from '../../src/keys/find-principal.ts';
import { openBehind } from './behind-the-command.ts';
import { makeCommandLine } from './command.ts';

const CREATED_AT = '2024-03-05T20:50:59.123000Z';

test('users and teams are added, and listed one per line or as JSON', async (t) => {
  const qrs = await makeCommandLine(t);
  assert.deepEqual(await qrs.run(['users', 'add', 'zoe@example.com']), { code: 0, out: 'zoe@example.com\n', err: '' });
  await qrs.get('users', 'add', 'ann');
  assert.equal(await qrs.get('teams', 'add', 'crew', '--member', 'zoe@example.com', '--member', 'ann'), 'crew');
  assert.equal(await qrs.get('users', 'list'), 'ann\nzoe@example.com');
  assert.deepEqual(JSON.parse(await qrs.get('users', 'list', '--json')), [
    { name: 'ann', created_at: CREATED_AT },
    { name: 'zoe@example.com', created_at: CREATED_AT },
  ]);
  assert.equal(await qrs.get('teams', 'list'), 'crew');
  assert.deepEqual(JSON.parse(await qrs.get('teams', 'list', '--json')), [
    { name: 'crew', members: ['ann', 'zoe@example.com'], created_at: CREATED_AT },
  ]);
});

test('an empty list is empty, and as JSON an empty array', async (t) => {
  const qrs = await makeCommandLine(t);
  for (const noun of ['users', 'teams', 'keys', 'queries', 'executions']) {
    assert.deepEqual(await qrs.run([noun, 'list']), { code: 0, out: '', err: '' });
    assert.deepEqual(await qrs.run([noun, 'list', '--json']), { code: 0, out: '[]\n', err: '' });
  }
});

test('a name that is taken, and a member that does not exist: exit 1, one line', async (t) => {
  const qrs = await makeCommandLine(t);
  await qrs.get('users', 'add', 'ann');
  const failed = (err: string) => ({ code: 1, out: '', err: `error: ${err}\n` });
  assert.deepEqual(await qrs.run(['users', 'add', 'ann']), failed('there is a user "ann" already'));
  assert.deepEqual(await qrs.run(['teams', 'add', 'crew', '--member', 'bob']), failed('there is no user "bob"'));
  assert.equal(await qrs.get('teams', 'list'), '');
});

test('an invalid name: exit 2', async (t) => {
  const qrs = await makeCommandLine(t);
  for (const name of ['', 'a b', '.hidden', 'ä', 'x'.repeat(65), 'a\nb']) {
    const { code, err } = await qrs.run(['users', 'add', '--', name]);
    assert.equal(code, 2, name);
    assert.match(err, /A name has 1 to 64 letters/);
  }
});

test('a key is printed alone, once, with a warning on standard error; the catalog has only its hash', async (t) => {
  const qrs = await makeCommandLine(t);
  await qrs.get('users', 'add', 'ann');
  await qrs.get('teams', 'add', 'crew', '--member', 'ann');
  const { code, out, err } = await qrs.run(['keys', 'create', '--user', 'ann', '--name', 'laptop']);
  assert.equal(code, 0);
  assert.match(out, /^qrs_[0-9a-z]{40}\n$/);
  const [listed] = JSON.parse(await qrs.get('keys', 'list', '--json'));
  assert.equal(err, `Keep this key: it is not shown again. To revoke it: qrs keys revoke ${listed.id}\n`);
  await using behind = await openBehind(qrs);
  const catalog = await behind.catalog();
  assert.deepEqual(await findPrincipal(catalog.principals, out.trim()), {
    keyId: listed.id,
    owner: { kind: 'user', name: 'ann' },
    teams: ['crew'],
    scope: 'read',
  });
});

test('keys are listed with owner, label and times, and revoked by id', async (t) => {
  const qrs = await makeCommandLine(t);
  await qrs.get('users', 'add', 'ann');
  await qrs.get('teams', 'add', 'crew');
  const first = JSON.parse(await qrs.get('keys', 'create', '--user', 'ann', '--name', 'laptop', '--json'));
  assert.match(first.key, /^qrs_/);
  assert.equal(first.user, 'ann');
  qrs.now += 1000;
  await qrs.get('keys', 'create', '--team', 'crew');
  const ids = (await qrs.get('keys', 'list')).split('\n');
  assert.equal(ids[0], first.id);
  qrs.now += 1000;
  assert.equal(await qrs.get('keys', 'revoke', first.id), first.id);
  assert.deepEqual(JSON.parse(await qrs.get('keys', 'list', '--json')), [
    {
      id: ids[0],
      user: 'ann',
      name: 'laptop',
      scope: 'read',
      created_at: CREATED_AT,
      revoked_at: '2024-03-05T20:51:01.123000Z',
    },
    { id: ids[1], team: 'crew', scope: 'read', created_at: '2024-03-05T20:51:00.123000Z' },
  ]);
  for (const id of [first.id, 'nothing']) {
    assert.deepEqual(await qrs.run(['keys', 'revoke', id]), {
      code: 1,
      out: '',
      err: `error: there is no key ${id} that is not revoked already\n`,
    });
  }
});

test('a key has one owner: none or both is exit 2, an unknown one exit 1', async (t) => {
  const qrs = await makeCommandLine(t);
  const usage = { code: 2, out: '', err: 'error: give one of --user NAME and --team NAME\n' };
  assert.deepEqual(await qrs.run(['keys', 'create']), usage);
  assert.deepEqual(await qrs.run(['keys', 'create', '--user', 'ann', '--team', 'crew']), usage);
  assert.deepEqual(await qrs.run(['keys', 'create', '--team', 'crew']), {
    code: 1,
    out: '',
    err: 'error: there is no team "crew"\n',
  });
});

test('a key has a scope and an expiry; by default read and none', async (t) => {
  const qrs = await makeCommandLine(t);
  await qrs.get('users', 'add', 'ann');
  const made = JSON.parse(
    await qrs.get('keys', 'create', '--user', 'ann', '--scope', 'write', '--expires', '90d', '--json'),
  );
  assert.deepEqual([made.scope, made.expires_at], ['write', '2024-06-03T20:50:59.123000Z']);
  await qrs.get('keys', 'create', '--user', 'ann', '--expires', '12h', '--scope', 'admin');
  assert.deepEqual(
    JSON.parse(await qrs.get('keys', 'list', '--json')).map(({ id: _, ...rest }: { readonly id: string }) => rest),
    [
      { user: 'ann', scope: 'write', expires_at: '2024-06-03T20:50:59.123000Z', created_at: CREATED_AT },
      { user: 'ann', scope: 'admin', expires_at: '2024-03-06T08:50:59.123000Z', created_at: CREATED_AT },
    ],
  );
  for (const words of [
    ['--scope', 'root'],
    ['--expires', '0d'],
    ['--expires', '90'],
    ['--expires', '36501d'],
  ]) {
    assert.equal((await qrs.run(['keys', 'create', '--user', 'ann', ...words])).code, 2, words.join(' '));
  }
});

test('queries are public unless --private is given', async (t) => {
  const qrs = await makeCommandLine(t);
  await qrs.get('users', 'add', 'ann');
  await qrs.get('teams', 'add', 'crew');
  assert.equal(await qrs.get('queries', 'add', '--id', '42', '--user', 'ann'), '42');
  await qrs.get('queries', 'add', '--id', '7', '--team', 'crew', '--private', '--name', 'Größe, 尺寸');
  assert.equal(await qrs.get('queries', 'list'), '7\n42');
  assert.deepEqual(JSON.parse(await qrs.get('queries', 'list', '--json')), [
    { id: 7, name: 'Größe, 尺寸', team: 'crew', visibility: 'private' },
    { id: 42, user: 'ann', visibility: 'public' },
  ]);
  const again = await qrs.run(['queries', 'add', '--id', '7', '--user', 'ann']);
  assert.deepEqual(again, { code: 1, out: '', err: 'error: there is a query 7 already\n' });
});

test('a query id is a whole number', async (t) => {
  const qrs = await makeCommandLine(t);
  for (const id of ['0', '-1', '1.5', '0x1', 'abc', '99999999999999999']) {
    const { code, err } = await qrs.run(['queries', 'add', `--id=${id}`, '--user', 'ann']);
    assert.equal(code, 2);
    assert.match(err, /A query id is a whole number from 1 to 9007199254740991/);
  }
});

test('members are added to teams and removed; the key of a removed user no longer works', async (t) => {
  const qrs = await makeCommandLine(t);
  for (const name of ['ann', 'bob']) await qrs.get('users', 'add', name);
  await qrs.get('teams', 'add', 'crew', '--member', 'ann');
  const members = async () => JSON.parse(await qrs.get('teams', 'list', '--json'))[0].members;
  assert.deepEqual(await qrs.run(['teams', 'add-member', 'crew', 'bob']), { code: 0, out: 'bob\n', err: '' });
  assert.deepEqual(await members(), ['ann', 'bob']);
  const again = await qrs.run(['teams', 'add-member', 'crew', 'bob']);
  assert.deepEqual(again, { code: 0, out: 'bob\n', err: 'bob is in crew already\n' });
  assert.equal(await qrs.get('teams', 'remove-member', 'crew', 'ann'), 'ann');
  assert.deepEqual(await members(), ['bob']);
  assert.deepEqual(await qrs.run(['teams', 'remove-member', 'none', 'ann']), {
    code: 1,
    out: '',
    err: 'error: there is no team "none"\n',
  });
  await qrs.get('keys', 'create', '--user', 'bob');
  await qrs.get('queries', 'add', '--id', '7', '--user', 'bob');
  const refused = await qrs.run(['users', 'remove', 'bob']);
  assert.deepEqual([refused.code, refused.out], [1, '']);
  assert.match(refused.err, /^error: the user "bob" owns query 7: give it to another owner first/);
  await qrs.get('queries', 'set', '7', '--team', 'crew');
  assert.equal(await qrs.get('users', 'remove', 'bob'), 'bob');
  assert.deepEqual(await members(), []);
  assert.equal(JSON.parse(await qrs.get('keys', 'list', '--json'))[0].revoked_at, CREATED_AT);
  assert.equal(await qrs.get('users', 'list'), 'ann');
});

test('a query is changed only in what is named, and removed when nothing of it is stored', async (t) => {
  const qrs = await makeCommandLine(t);
  await qrs.get('users', 'add', 'ann');
  await qrs.get('queries', 'add', '--id', '7', '--user', 'ann', '--name', 'prices');
  const set = async (...words: readonly string[]) =>
    JSON.parse(await qrs.get('queries', 'set', '7', ...words, '--json'));
  const before = { id: 7, name: 'prices', user: 'ann', visibility: 'public' };
  assert.deepEqual(await set('--private', '--tag', 'dex', 'daily'), {
    ...before,
    visibility: 'private',
    tags: ['dex', 'daily'],
  });
  const tags = Array.from({ length: 51 }, (_, index) => `tag ${index}`);
  const tooMany = await qrs.run(['queries', 'set', '7', '--tag', ...tags]);
  assert.deepEqual(
    [tooMany.code, tooMany.err],
    [2, "error: option '--tag <tag...>' argument 'tag 50' is invalid. Expected up to 50.\n"],
  );
  const archived = { ...before, description: 'Of each chain.', tags: ['dex', 'daily'], archived: true };
  assert.deepEqual(await set('--public', '--archive', '--description', 'Of each chain.'), archived);
  const submitting = await qrs.run(['executions', 'submit', '--query', '7']);
  assert.equal(submitting.err, 'error: query 7 is archived: it is served, not run; unarchive it first\n');
  await qrs.get('queries', 'set', '7', '--unarchive');
  const id = await qrs.get('executions', 'submit', '--query', '7');
  const refused = await qrs.run(['queries', 'remove', '7']);
  assert.equal(refused.err, `error: execution ${id} of query 7 is PENDING: cancel it first\n`);
  await qrs.get('executions', 'cancel', id);
  assert.equal(await qrs.get('queries', 'remove', '7'), '7');
  assert.equal(await qrs.get('queries', 'list'), '');
  for (const words of [[], ['--private', '--public'], ['--archive', '--unarchive'], ['--user', 'a', '--team', 'b']]) {
    assert.equal((await qrs.run(['queries', 'set', '7', ...words])).code, 2, words.join(' '));
  }
  const unknown = await qrs.run(['queries', 'set', '8', '--archive']);
  assert.deepEqual(unknown, { code: 1, out: '', err: 'error: there is no query 8\n' });
});
