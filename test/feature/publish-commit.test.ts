/** A publish whose commit fails, seems to fail, or has an unknown outcome: what is deleted then, and what is reported. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Catalog, Executions, Leases } from '../../src/catalog/catalog.ts';
import type { Execution } from '../../src/domain/execution.ts';
import type { Clock } from '../../src/domain/instant.ts';
import { sweep } from '../../src/maintenance/sweep.ts';
import { publish } from '../../src/publishing/publish.ts';
import type { ResultStore } from '../../src/store/result-store.ts';
import { NEVER, OPTIONS, QUERY_ID, Workplace } from './publishing.ts';
import { withMethods } from './with-methods.ts';

const FSYNC_FAILED = new Error('disk I/O error');

interface Faults {
  readonly executions?: Partial<Executions>;
  readonly leases?: Partial<Leases>;
  readonly store?: Partial<ResultStore>;
  readonly clock?: Clock;
}

async function publishWith(place: Workplace, faults: Faults, content = 'a\n1\n'): Promise<Execution> {
  const { executions, leases } = place.catalog;
  const catalog: Pick<Catalog, 'executions' | 'leases' | 'queries' | 'runs'> = {
    queries: place.catalog.queries,
    runs: place.catalog.runs,
    executions: withMethods(executions, faults.executions ?? {}),
    leases: withMethods(leases, faults.leases ?? {}),
  };
  const store = withMethods<ResultStore>(place.store, faults.store ?? {});
  const { clock = place.dependencies.clock } = faults;
  const source = { kind: 'file', path: await place.write('a.csv', content) } as const;
  return await publish({ ...place.dependencies, catalog, store, clock }, { queryId: QUERY_ID, source }, OPTIONS, NEVER);
}

const keys = async (place: Workplace) => await Array.fromAsync(place.store.list(''), ({ key }) => key);
const failing = async () => {
  throw FSYNC_FAILED;
};

test('after a failed commit nothing is deleted until the catalog has durably taken the lease back', async () => {
  await using place = await Workplace.open();
  const happened: string[] = [];
  const leases: Partial<Leases> = {
    revoke: async (lease) => {
      happened.push('lease ended');
      return await place.catalog.leases.revoke(lease);
    },
  };
  const store: Partial<ResultStore> = {
    delete: async (gone) => {
      happened.push('deleted');
      return await place.store.delete(gone);
    },
  };
  await assert.rejects(publishWith(place, { executions: { addCompleted: failing }, leases, store }), FSYNC_FAILED);
  assert.deepEqual(happened.slice(0, 2), ['lease ended', 'deleted']);
  assert.deepEqual(await keys(place), []);
});

test('while the catalog takes no commit at all, nothing is deleted: the failed commit may come back', async () => {
  await using place = await Workplace.open();
  const faults = { executions: { addCompleted: failing }, leases: { revoke: failing, release: failing } };
  await assert.rejects(publishWith(place, faults), FSYNC_FAILED);
  assert.equal((await keys(place)).length, 1);
  // The catalog works again, and the lease has expired: the sweep ends it, and then deletes.
  await place.advance(OPTIONS.leaseMillis);
  await sweep(place.dependencies, 100, NEVER);
  assert.deepEqual(await keys(place), []);
});

for (const [what, content] of [
  ['with rows', 'a\n1\n'],
  ['without any', 'a\n'],
] as const) {
  test(`a commit that went through but reported an error is no failure: a result ${what}`, async () => {
    await using place = await Workplace.open();
    const addCompleted: Executions['addCompleted'] = async (...given) => {
      await place.catalog.executions.addCompleted(...given);
      throw new Error('connection lost');
    };
    const execution = await publishWith(place, { executions: { addCompleted } }, content);
    assert.equal(execution.state, 'COMPLETED');
    assert.equal((await keys(place)).length, content === 'a\n' ? 0 : 1);
    assert.deepEqual(await place.catalog.executions.find(execution.id), execution);
  });
}

test('a commit that went through is no failure either when something else has ended its lease', async () => {
  await using place = await Workplace.open();
  const addCompleted: Executions['addCompleted'] = async (...given) => {
    await place.catalog.executions.addCompleted(...given);
    throw new Error('connection lost');
  };
  // As a run does that was cancelled, it seemed, before its commit was answered.
  const execution = await publishWith(place, { executions: { addCompleted }, leases: { revoke: async () => true } });
  assert.equal(execution.state, 'COMPLETED');
  assert.equal((await keys(place)).length, 1);
});

test('a commit that went through stays a success when what follows it fails', async () => {
  await using place = await Workplace.open();
  const execution = await publishWith(place, { leases: { release: failing, revoke: failing } });
  assert.equal(execution.state, 'COMPLETED');
});

test('a publish that begins when another has ended is the latest, though its host is seconds behind', async () => {
  await using place = await Workplace.open();
  const begun = place.dependencies.clock();
  await publishWith(place, { clock: () => begun + 2000 });
  // It takes longer than the clocks are apart.
  let now = begun;
  const put: ResultStore['put'] = async (...given) => {
    await place.store.put(...given);
    now = begun + 60_000;
  };
  const { id } = await publishWith(place, { clock: () => now, store: { put } }, 'a\n2\n');
  assert.equal((await place.catalog.executions.findLatest(QUERY_ID, {}, now))?.id, id);
});

test('a full disk is reported as such, not as something wrong with the file', async () => {
  await using place = await Workplace.open();
  const put = async () => {
    throw Object.assign(new Error('ENOSPC: no space left on device, rename'), { code: 'ENOSPC' });
  };
  await assert.rejects(publishWith(place, { store: { put } }), {
    name: 'PublishError',
    message:
      'nothing was published, since a disk of the service is full: free some space (`qrs sweep` deletes what has expired)',
  });
});
