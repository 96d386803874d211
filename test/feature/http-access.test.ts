/** Contract §2: who may read what. Another's private query looks exactly like one that does not exist. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getText } from './http-client.ts';
import { startHttpService } from './http-service.ts';

const UNKNOWN_QUERY = [404, '{"error":"not found: Query not found or private"}'];
const UNKNOWN_ID = '01HR7PD8XYZ3M4N5P6Q7R8S9TA';

const unknownExecution = (id: string) => [404, `{"error":"The requested execution ID (ID ${id}) was not found."}`];

test('access', async (t) => {
  const service = await startHttpService(t);
  const { commandLine: qrs, key: ann } = service;
  await qrs.get('users', 'add', 'bob');
  await qrs.get('users', 'add', 'eve');
  await qrs.get('teams', 'add', 'core', '--member', 'bob');
  await qrs.get('teams', 'add', 'other', '--member', 'eve');
  const keyOf = async (kind: '--user' | '--team', name: string) => await qrs.get('keys', 'create', kind, name);
  const [bob, eve] = [await keyOf('--user', 'bob'), await keyOf('--user', 'eve')];
  const [core, other] = [await keyOf('--team', 'core'), await keyOf('--team', 'other')];
  const everybody = { ann, bob, eve, core, other };
  await qrs.get('queries', 'add', '--id', '1', '--user', 'bob');
  await qrs.get('queries', 'add', '--id', '2', '--user', 'bob', '--private');
  await qrs.get('queries', 'add', '--id', '3', '--team', 'core');
  await qrs.get('queries', 'add', '--id', '4', '--team', 'core', '--private');
  const ids: string[] = [];
  for (const queryId of [1, 2, 3, 4]) ids.push((await service.publish(queryId, 'n\n1\n')).id);

  /** Who can read the query. It must be the same on all five addresses. */
  const readersOf = async (queryId: number) => {
    const id = ids[queryId - 1] ?? '';
    const readers: string[] = [];
    for (const [name, key] of Object.entries(everybody)) {
      const [query, execution] = [`/v1/query/${queryId}/results`, `/v1/execution/${id}/results`];
      const found = (await getText(service, query, key))[0] === 200;
      if (found) readers.push(name);
      for (const [path, refusal] of [
        [query, UNKNOWN_QUERY],
        [`${query}/csv`, UNKNOWN_QUERY],
        [execution, unknownExecution(id)],
        [`${execution}/csv`, unknownExecution(id)],
        [`/v1/execution/${id}/status`, unknownExecution(id)],
      ] as const) {
        const answer = await getText(service, path, key);
        if (found) assert.equal(answer[0], 200, `${name} ${path}`);
        else assert.deepEqual(answer, refusal, `${name} ${path}`);
      }
    }
    return readers;
  };

  await t.test('a public query of a user is everybody’s to read', async () => {
    assert.deepEqual(await readersOf(1), ['ann', 'bob', 'eve', 'core', 'other']);
  });

  await t.test('a private query of a user is only that user’s, not their team’s', async () => {
    assert.deepEqual(await readersOf(2), ['bob']);
  });

  await t.test('a public query of a team is everybody’s to read', async () => {
    assert.deepEqual(await readersOf(3), ['ann', 'bob', 'eve', 'core', 'other']);
  });

  await t.test('a private query of a team is the team’s and its members’', async () => {
    assert.deepEqual(await readersOf(4), ['bob', 'core']);
  });

  await t.test('an unknown query and an unknown execution answer in the same words', async () => {
    assert.deepEqual(await getText(service, '/v1/query/5/results'), UNKNOWN_QUERY);
    assert.deepEqual(await getText(service, '/v1/query/99999999999999999999/results'), UNKNOWN_QUERY);
    assert.deepEqual(await getText(service, `/v1/execution/${UNKNOWN_ID}/results`), unknownExecution(UNKNOWN_ID));
  });

  await t.test('an answer to one key is not given to another that may not see it', async () => {
    for (const key of [bob, eve, bob]) {
      const [status] = await getText(service, '/v1/query/2/results?limit=1', key);
      assert.equal(status, key === bob ? 200 : 404);
    }
  });
});
