import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ulid } from 'ulid';
import { sleep } from '../../test/real-time.ts';
import { openSqliteCatalog } from '../catalog/sqlite/sqlite-catalog.ts';
import { stateAt } from '../domain/execution.ts';
import { pruneSuperseded } from './prune.ts';

const root = await mkdtemp(join(tmpdir(), 'qrs-prune-'));
after(() => rm(root, { recursive: true, force: true }));

test('the latest results stay, older ones go; those being read and failed runs are left alone', async () => {
  await using catalog = await openSqliteCatalog(join(root, 'catalog.sqlite'), { clock: Date.now, sleep });
  await catalog.principals.addUser('ann', 0);
  const owner = { kind: 'user', name: 'ann' } as const;
  await catalog.queries.add({ id: 1, owner, visibility: 'public' }, 0);
  const ids = Array.from({ length: 7 }, (_, i) => ulid(i + 1));
  for (const [i, id] of ids.entries()) {
    await catalog.executions.add({ id, queryId: 1, parameters: {}, state: 'PENDING', submittedAt: i });
    await catalog.executions.start(id, i);
    if (i === 5) await catalog.executions.fail(id, { type: 'syntax_error', message: 'no' }, i);
    else {
      const lease = await catalog.leases.acquire(`write:${id}`, 'test', 1000);
      assert.ok(lease !== undefined);
      const resultSet = { columns: [], rowCount: 0, cellBytes: 0, truncated: i === 4, parts: [] };
      await catalog.executions.complete(id, { startedAt: i, endedAt: i, expiresAt: 1e12, resultSet }, lease);
    }
  }
  await catalog.leases.acquire(`read:${ids[1]}:x`, 'reader', 1000);

  const pruned = await pruneSuperseded(1, 2, { catalog, now: 50 }, new AbortController().signal);

  assert.deepEqual(pruned, [ids[3], ids[2], ids[0]]);
  const states = (await catalog.executions.list({ queryId: 1, limit: 10 })).map((execution) => stateAt(execution, 50));
  assert.deepEqual(states, ['COMPLETED', 'FAILED', 'COMPLETED_PARTIAL', 'EXPIRED', 'EXPIRED', 'COMPLETED', 'EXPIRED']);
});
