import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeTime } from '../../../test/fake-time.ts';
import type { Principal } from '../../domain/principal.ts';
import { type CheckSql, QueryChecks } from './query-checks.ts';

const by = (keyId: string, { signal } = new AbortController()) => ({
  principal: { keyId, owner: { kind: 'user', name: 'ann' }, teams: [], scope: 'write' } satisfies Principal,
  signal,
});

/** Checks that last until they are ended, or their signal is aborted. */
function heldChecks() {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const check: CheckSql = (sql, _parameters, signal) =>
    new Promise((resolve, reject) => {
      begun.push(sql);
      ends.set(sql, resolve);
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  return { begun, end: (sql: string) => ends.get(sql)?.(), check };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('two queries are checked at a time, keys take turns, and whose queries wait in numbers is refused', async () => {
  const { begun, end, check } = heldChecks();
  const checks = new QueryChecks(check, new FakeTime(0).sleep);
  const many = Array.from({ length: 18 }, (_, i) => checks.check(`a${i}`, [], by('a')));
  await assert.rejects(checks.check('a18', [], by('a')), {
    code: 'overloaded',
    message: 'too many queries are waiting for their SQL to be checked; try again in some seconds',
    retryAfterSeconds: 5,
  });
  const dropped = assert.rejects(many.pop() ?? Promise.resolve(), { code: 'overloaded' });
  const other = checks.check('b', [], by('b'));
  await dropped;
  assert.deepEqual(begun, ['a0', 'a1']);
  end('a0');
  end('a1');
  await turn();
  assert.deepEqual(begun, ['a0', 'a1', 'a2', 'b']);
  end('b');
  await other;
  for (let i = 2; i < 17; i++) {
    await turn();
    assert.ok(begun.length <= i + 3, `${begun}`);
    end(`a${i}`);
  }
  await Promise.all(many);
});

test('a client that leaves ends the check of its query, and waits no more', async () => {
  const { begun, end, check } = heldChecks();
  const checks = new QueryChecks(check, new FakeTime(0).sleep);
  const [first, waiting] = [new AbortController(), new AbortController()];
  const running = [checks.check('a0', [], by('a', first)), checks.check('a1', [], by('a'))];
  const left = checks.check('a2', [], by('a', waiting));
  waiting.abort(new Error('gone while it waited'));
  await assert.rejects(left, /gone while it waited/);
  first.abort(new Error('gone'));
  await assert.rejects(running[0] ?? Promise.resolve(), /gone/);
  end('a1');
  await running[1];
  assert.deepEqual(begun, ['a0', 'a1']);
});

test('a check ends at its time limit, with an error that says so and is not kept', async () => {
  const { end, check } = heldChecks();
  const time = new FakeTime(0);
  const checks = new QueryChecks(check, time.sleep);
  const slow = checks.check('slow', [], by('a'));
  const quick = checks.check('quick', [], by('a'));
  await turn();
  time.advance(29_999);
  end('quick');
  await quick;
  time.advance(1);
  await assert.rejects(slow, {
    code: 'read_timeout',
    status: 504,
    message:
      'checking the SQL of the query exceeded its limit of 30 s; make it simpler, or try again when less is going on',
  });
});
