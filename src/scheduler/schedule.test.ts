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
import { runSchedule } from './schedule.ts';

describe('when a dataset is due', () => {
  test('one that was never refreshed is refreshed at once, then at each tick, not in between', async () => {
    const process = new Process('a');
    const seen: number[] = [];
    for (const now of ['10:07', '10:08', '10:14', '10:15', '10:16', '10:30']) {
      world.time.moveTo(at(now));
      await process.turn();
      seen.push((await states()).length);
    }
    assert.deepEqual(seen, [1, 1, 1, 2, 2, 3]);
    assert.equal(process.schedule.nextTick(), at('10:45'));
  });

  test('of many missed ticks one is caught up', async () => {
    const process = new Process('a');
    await process.turn();
    world.time.moveTo(at('19:59'));
    await process.turn();
    await process.turn();
    assert.deepEqual(await states(), ['COMPLETED', 'COMPLETED']);
  });

  test('of several processes exactly one runs each tick', async () => {
    const processes = ['a', 'b', 'c'].map((name) => new Process(name));
    for (let tick = 0; tick < 12; tick += 1) {
      await Promise.all(processes.map((process) => process.turn()));
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
    const process = new Process('a', { schedule: { pollMillis: 20 * MINUTE } });
    const asleep = world.time.nextSleep();
    const loop = runSchedule(process.scheduleDeps, controller.signal);
    await asleep;
    await process.turn();
    const again = world.time.nextSleep();
    world.time.moveTo(at('10:15'));
    await again;
    controller.abort();
    await loop;
    assert.deepEqual(await states(), ['COMPLETED', 'PENDING']);
  });
});

describe('a dataset whose sources are not set up', () => {
  test('is not due until they are', async () => {
    let setUp = false;
    const process = new Process('a', { isSetUp: async () => setUp });
    await process.turn();
    assert.deepEqual([process.events, await states()], [[], []]);
    setUp = true;
    await process.turn();
    assert.deepEqual(await states(), ['COMPLETED']);
  });
});

describe('a refresh that lasts', () => {
  test('renews its lease, and no other begins', async () => {
    const [a, b] = [new Process('a'), new Process('b')];
    const begun = a.hold();
    await a.look();
    const { finish } = await begun;
    for (let turn = 0; turn < 9; turn += 1) {
      const renewed = world.time.nextSleep();
      world.time.advance(LEASE_MILLIS / 3);
      await renewed;
    }
    await b.turn();
    assert.deepEqual(await states(), ['EXECUTING']);
    finish();
    await a.runner.drained();
    assert.deepEqual([a.kinds(), b.kinds(), await states()], [['started', 'completed'], [], ['COMPLETED']]);
  });

  test("that lasts past the next tick is followed by that tick's refresh", async () => {
    const a = new Process('a', { runs: { leaseMillis: 60 * MINUTE } });
    const begun = a.hold();
    await a.look();
    const { finish } = await begun;
    world.time.moveTo(at('10:40'));
    const b = new Process('b');
    await b.turn();
    assert.deepEqual(await states(), ['EXECUTING']);
    finish();
    await a.runner.drained();
    await b.turn();
    await b.turn();
    assert.deepEqual(await states(), ['COMPLETED', 'COMPLETED']);
  });
});

describe('a clock that was days ahead for a while', () => {
  const DAYS = 3 * 24 * 60 * MINUTE;

  test('stops nothing: the next tick is run once, and its run is the latest', async () => {
    world.time.advance(DAYS);
    const wrong = new Process('wrong');
    await wrong.turn();
    const [ahead] = await world.catalog.executions.list({ queryId: QUARTERLY.queryId, limit: 1 });
    world.time.moveTo(at('10:16'));
    const right = [new Process('a'), new Process('b'), wrong];
    for (const process of [...right, ...right]) await process.turn();
    assert.deepEqual(await states(), ['COMPLETED', 'COMPLETED']);
    const latest = await world.catalog.executions.findLatest(QUARTERLY.queryId, {}, world.time.clock());
    assert.notEqual(latest?.id, ahead?.id);
    assert.equal(latest?.submittedAt, at('10:16'));
  });

  test('beside a right one adds nothing and stops nothing: each tick is run once', async () => {
    const wrong = new Process('wrong', { clock: () => world.time.clock() + DAYS });
    const right = new Process('right');
    const owner = { kind: 'user', name: 'ann' } as const;
    await world.catalog.principals.addUser('ann', 0);
    const query = { id: 7, owner, visibility: 'public', sql: 'SELECT 1 AS n', schedule: '*/15 * * * *' } as const;
    await world.catalog.queries.add(query, at('10:00'));
    for (const now of ['10:16', '10:17', '10:18', '10:31', '10:32']) {
      world.time.moveTo(at(now));
      for (const process of [wrong, right]) await process.turn();
    }
    assert.deepEqual([(await states()).length, (await states(7)).length], [2, 2], 'those of 10:15 and 10:30');
  });

  test('does not stop the tasks', async () => {
    let sweeps = 0;
    const run = async () => {
      sweeps += 1;
    };
    const task = { name: 'sweep', schedule: '5,35 * * * *', run };
    const process = new Process('a', { schedule: { tasks: [task] } });
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
  await new Process('a').turn();
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
    const { ticks } = world.catalog;
    const full = { ticks: { findLast: (name: string) => ticks.findLast(name), claim } };
    const process = new Process('a', { schedule: { tasks: [sweep], catalog: full }, isSetUp: async () => false });
    world.time.moveTo(at('10:07'));
    await process.schedule.runDue(running);
    assert.deepEqual([runs, process.faults], [1, []]);
  });

  test('that last longer than from one tick to the next hold up no query, are not begun twice, and are waited for', async () => {
    const controller = new AbortController();
    const sweeping = Promise.withResolvers<void>();
    let begun = 0;
    const run = async () => {
      begun += 1;
      await sweeping.promise;
    };
    const process = new Process('a', { schedule: { tasks: [{ name: 'sweep', schedule: '* * * * *', run }] } });
    const asleep = world.time.nextSleep();
    let ended = false;
    const loop = runSchedule(process.scheduleDeps, controller.signal).then(() => {
      ended = true;
    });
    await asleep;
    await process.turn();
    const again = world.time.nextSleep();
    world.time.moveTo(at('10:15'));
    await again;
    assert.deepEqual([await states(), begun], [['COMPLETED', 'PENDING'], 1]);
    controller.abort();
    await states();
    assert.equal(ended, false);
    sweeping.resolve();
    await loop;
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
    const processes = ['a', 'b'].map((name) => new Process(name, { schedule: { tasks: [sweep] } }));
    for (const now of ['10:07', '10:59', '11:00', '11:30', '12:01']) {
      world.time.moveTo(at(now));
      await Promise.all(processes.map(({ schedule }) => schedule.runDue(running)));
    }
    assert.equal(runs, 3);
    assert.equal(processes.flatMap((process) => process.faults).length, 3);
  });
});
