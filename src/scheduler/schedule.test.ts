/** When the schedule runs what. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  at,
  LEASE_MILLIS,
  MINUTE,
  nextId,
  Process,
  QUARTERLY,
  running,
  states,
  world,
} from '../../test/schedule-world.ts';
import { refreshNow, runSchedule } from './schedule.ts';

describe('when a dataset is due', () => {
  test('one that was never refreshed is refreshed at once, then at each tick, not in between', async () => {
    const { schedule } = new Process('a');
    const seen: number[] = [];
    for (const now of ['10:07', '10:08', '10:14', '10:15', '10:16', '10:30']) {
      world.time.moveTo(at(now));
      await schedule.runDue(running);
      seen.push((await states()).length);
    }
    assert.deepEqual(seen, [1, 1, 1, 2, 2, 3]);
    assert.equal(schedule.nextTick(), at('10:45'));
  });

  test('of many missed ticks one is caught up', async () => {
    const { schedule } = new Process('a');
    await schedule.runDue(running);
    world.time.moveTo(at('19:59'));
    await schedule.runDue(running);
    await schedule.runDue(running);
    assert.deepEqual(await states(), ['COMPLETED', 'COMPLETED']);
  });

  test('of several processes exactly one runs each tick', async () => {
    const processes = ['a', 'b', 'c'].map((name) => new Process(name));
    for (let tick = 0; tick < 12; tick += 1) {
      await Promise.all(processes.map(({ schedule }) => schedule.runDue(running)));
      world.time.advance(15 * MINUTE);
    }
    assert.deepEqual(await states(), Array(12).fill('COMPLETED'));
    assert.deepEqual(
      processes.flatMap((process) => process.faults),
      [],
    );
  });

  test('the loop sleeps until the next tick or poll, and ends with its signal', async () => {
    const controller = new AbortController();
    const process = new Process('a', { pollMillis: 20 * MINUTE });
    const asleep = world.time.nextSleep().then(() => world.time.nextSleep());
    const loop = runSchedule(process.deps, controller.signal);
    // The first to sleep is the lease's renewal, the second the loop itself.
    await asleep;
    const again = world.time.nextSleep().then(() => world.time.nextSleep());
    world.time.moveTo(at('10:15'));
    await again;
    controller.abort();
    await loop;
    assert.deepEqual(await states(), ['COMPLETED', 'COMPLETED']);
  });
});

describe('a dataset whose sources are not set up', () => {
  test('is not due until they are', async () => {
    let setUp = false;
    const { schedule, events } = new Process('a', { isSetUp: async () => setUp });
    await schedule.runDue(running);
    assert.deepEqual([events, await states()], [[], []]);
    setUp = true;
    await schedule.runDue(running);
    assert.deepEqual(await states(), ['COMPLETED']);
  });
});

describe('a refresh that lasts', () => {
  test('renews its lease, and no other begins', async () => {
    const [a, b] = [new Process('a'), new Process('b')];
    const begun = a.hold();
    const first = a.schedule.runDue(running);
    const { finish } = await begun;
    for (let turn = 0; turn < 9; turn += 1) {
      const renewed = world.time.nextSleep();
      world.time.advance(LEASE_MILLIS / 3);
      await renewed;
    }
    await b.schedule.runDue(running);
    assert.equal(await refreshNow(QUARTERLY, b.deps, running), undefined);
    assert.deepEqual(await states(), ['EXECUTING']);
    finish();
    await first;
    assert.deepEqual([a.events, b.events, await states()], [['started', 'refreshed'], [], ['COMPLETED']]);
  });

  test("that lasts past the next tick is followed by that tick's refresh", async () => {
    const a = new Process('a', { leaseMillis: 60 * MINUTE });
    const begun = a.hold();
    const first = a.schedule.runDue(running);
    const { finish } = await begun;
    world.time.moveTo(at('10:40'));
    const b = new Process('b');
    await b.schedule.runDue(running);
    assert.deepEqual(await states(), ['EXECUTING']);
    finish();
    await first;
    await b.schedule.runDue(running);
    assert.deepEqual(await states(), ['COMPLETED', 'COMPLETED']);
  });
});

describe('a clock that was days ahead for a while', () => {
  const DAYS = 3 * 24 * 60 * MINUTE;

  test('stops nothing: the next tick is run once, and its run is the latest', async () => {
    world.time.advance(DAYS);
    const wrong = new Process('wrong');
    await wrong.schedule.runDue(running);
    const [ahead] = await world.catalog.executions.list({ queryId: QUARTERLY.queryId, limit: 1 });
    world.time.moveTo(at('10:16'));
    const right = [new Process('a'), new Process('b'), wrong];
    for (const { schedule } of [...right, ...right]) await schedule.runDue(running);
    assert.deepEqual(await states(), ['COMPLETED', 'COMPLETED']);
    const latest = await world.catalog.executions.findLatest(QUARTERLY.queryId, {}, world.time.clock());
    assert.notEqual(latest?.id, ahead?.id);
    assert.equal(latest?.submittedAt, at('10:16'));
  });

  test('beside a right one stops nothing: each tick is run once', async () => {
    const wrong = new Process('wrong', { clock: () => world.time.clock() + DAYS });
    const right = new Process('right');
    for (const now of ['10:16', '10:17', '10:18', '10:31', '10:32']) {
      world.time.moveTo(at(now));
      for (const { schedule } of [wrong, right]) await schedule.runDue(running);
    }
    assert.equal((await states()).length, 4);
  });

  test('does not stop the tasks', async () => {
    let sweeps = 0;
    const run = async () => {
      sweeps += 1;
    };
    const task = { name: 'sweep', schedule: '5,35 * * * *', run };
    const process = new Process('a', { tasks: [task] });
    world.time.advance(DAYS);
    await process.schedule.runDue(running);
    world.time.moveTo(at('10:36'));
    for (let look = 0; look < 3; look += 1) await process.schedule.runDue(running);
    assert.equal(sweeps, 2);
  });
});

test("a refresh leaves alone what others submitted for the dataset's query", async () => {
  const theirs = {
    id: nextId(world.time.clock()),
    queryId: QUARTERLY.queryId,
    parameters: {},
    submittedAt: world.time.clock(),
  };
  await world.catalog.executions.add({ ...theirs, state: 'PENDING' });
  await new Process('a').schedule.runDue(running);
  assert.deepEqual(await states(), ['PENDING', 'COMPLETED']);
  assert.deepEqual(await world.catalog.leases.list(''), []);
});

describe('tasks', () => {
  test('run on a full disk, where no tick can be claimed: the sweep is what frees it', async () => {
    let runs = 0;
    const sweep = {
      name: 'sweep',
      schedule: '0 * * * *',
      run: async () => {
        runs += 1;
      },
    };
    const claim = async () => {
      throw Object.assign(new Error('database or disk is full'), { code: 'ERR_SQLITE_ERROR', errcode: 13 });
    };
    const { executions, leases, ticks } = world.catalog;
    const full = { executions, leases, ticks: { findLast: (name: string) => ticks.findLast(name), claim } };
    const process = new Process('a', { datasets: [], tasks: [sweep], catalog: full });
    world.time.moveTo(at('10:07'));
    await process.schedule.runDue(running);
    assert.deepEqual([runs, process.faults], [1, []]);
  });

  test('run once at each tick, in one process, and a failed task stops nothing', async () => {
    let runs = 0;
    const sweep = {
      name: 'sweep',
      schedule: '0 * * * *',
      run: async () => {
        runs += 1;
        throw new Error('disk gone');
      },
    };
    const processes = ['a', 'b'].map((name) => new Process(name, { datasets: [], tasks: [sweep] }));
    for (const now of ['10:07', '10:59', '11:00', '11:30', '12:01']) {
      world.time.moveTo(at(now));
      await Promise.all(processes.map(({ schedule }) => schedule.runDue(running)));
    }
    assert.equal(runs, 3);
    assert.equal(processes.flatMap((process) => process.faults).length, 3);
  });
});
