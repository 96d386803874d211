import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BuildQueue, type BuildStep, type Built, NotBuildable } from './build-queue.ts';

/** A queue, and everything that it has reported. */
function queue() {
  const told: unknown[] = [];
  const state = { now: 1_000_000, told, busyUntil: 0 };
  const built = new BuildQueue({
    clock: () => state.now,
    monotonic: () => state.now,
    sleep: async (millis) => {
      state.now += millis;
    },
    isBusy: () => state.now < state.busyUntil,
    rest: () => told.push('rest'),
    onBuilt: ({ files, bytes }: Built) => told.push(`built ${files} files of ${bytes} bytes`),
    onFailed: (_, error) => told.push(String(error)),
    onRefused: (_, { message }) => told.push(`refused: ${message}`),
  });
  return { ...state, state, built };
}

const wanted = (id: string, steps: readonly BuildStep[]) => ({ id, executionId: 'one', steps: () => steps });

test('files are built one at a time, in the order in which they are wanted, each once', async () => {
  const { built, told, state } = queue();
  let running = 0;
  const step = (id: string): BuildStep => ({
    id,
    build: async () => {
      running += 1;
      assert.equal(running, 1);
      await new Promise(setImmediate);
      running -= 1;
      told.push(id);
      return 10;
    },
  });
  const one = wanted('one', [step('a'), step('b')]);
  for (const each of [one, wanted('two', [step('c')]), one]) built.want(each);
  await built.idle();
  assert.deepEqual(told, ['a', 'b', 'built 2 files of 20 bytes', 'c', 'built 1 files of 10 bytes', 'rest']);
  built.want(one);
  await built.idle();
  assert.equal(told.length, 6);
  state.now += 600_000;
  built.want(one);
  await built.idle();
  assert.equal(told.length, 10);
});

test('long reads that are under way go first, at the beginning and between two files, for half a minute at most', async () => {
  const { built, told, state } = queue();
  const start = state.now;
  const step = (id: string, busyThen: number): BuildStep => ({
    id,
    build: async () => {
      told.push(`${id} after ${state.now - start} ms`);
      state.busyUntil = state.now + busyThen;
      return 10;
    },
  });
  // Another export may begin right after one has ended, so it is quiet once it has been quiet for two looks.
  state.busyUntil = start + 3000;
  built.want(wanted('one', [step('a', 2000), step('b', 3_600_000), step('c', 3_600_000)]));
  await built.idle();
  assert.deepEqual(told, [
    ...['a after 3100 ms', 'b after 5200 ms', 'c after 30000 ms'],
    ...['built 3 files of 30 bytes', 'rest'],
  ]);
});

test('a clock that is set back puts no build off', async () => {
  const { built, told, state } = queue();
  const failing = wanted('one', [{ id: 'a', build: async () => assert.fail('no file can be opened') }]);
  for (let time = 0; time < 2; time += 1) {
    built.want(failing);
    await built.idle();
    state.now -= 3_600_000;
  }
  assert.equal(told.filter((what) => /no file can be opened/.test(String(what))).length, 2);
});

test('a failed build is tried again after ten minutes, or as soon as it is wanted if it was forgotten', async () => {
  const { built, told, state } = queue();
  const full = wanted('one', [{ id: 'a', build: async () => assert.fail('the disk is full') }]);
  for (const minutes of [0, 5, 5]) {
    state.now += minutes * 60_000;
    built.want(full);
    await built.idle();
  }
  assert.equal(told.filter((what) => /the disk is full/.test(String(what))).length, 2);
  built.forget('one');
  built.want(full);
  await built.idle();
  assert.equal(told.filter((what) => /the disk is full/.test(String(what))).length, 3);
});

test('what is forgotten while it is built may be built again at once', async () => {
  const { built, told } = queue();
  const one = wanted('one', [
    {
      id: 'a',
      build: async () => {
        built.forget('one');
        return 10;
      },
    },
  ]);
  for (let time = 0; time < 2; time += 1) {
    built.want(one);
    await built.idle();
  }
  assert.deepEqual(told, ['built 1 files of 10 bytes', 'rest', 'built 1 files of 10 bytes', 'rest']);
});

test('a file that can never be built is tried and reported once; the others of its result are built', async () => {
  const { built, told, state } = queue();
  let [tries, bytes] = [0, 10];
  const never: BuildStep = {
    id: 'a',
    build: async () => {
      tries += 1;
      throw new NotBuildable('it is too large');
    },
  };
  const both = wanted('one', [never, { id: 'b', build: async () => bytes }]);
  built.want(both);
  await built.idle();
  assert.deepEqual(told, ['refused: it is too large', 'built 1 files of 10 bytes', 'rest']);
  // The other one is there: nothing has to be done.
  bytes = 0;
  state.now += 600_000;
  built.want(both);
  await built.idle();
  assert.deepEqual(told.slice(3), ['rest']);
  const alone = wanted('two', [{ ...never, id: 'c' }]);
  for (let hours = 0; hours < 5; hours += 1) {
    state.now += 3_600_000;
    built.want(alone);
    await built.idle();
  }
  assert.deepEqual(told.slice(4), ['refused: it is too large', 'rest']);
  assert.equal(tries, 2);
});

test('closing stops the build in progress and waits for its end; nothing more is begun or reported', async () => {
  const { built, told } = queue();
  const begun = Promise.withResolvers<void>();
  const build = (signal: AbortSignal) =>
    new Promise<number>((_, reject) => {
      begun.resolve();
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  built.want(wanted('one', [{ id: 'a', build }]));
  built.want(wanted('two', [{ id: 'b', build: async () => assert.fail('it is begun') }]));
  await begun.promise;
  await built[Symbol.asyncDispose]();
  built.want(wanted('three', [{ id: 'c', build: async () => assert.fail('it is begun') }]));
  await built.idle();
  assert.deepEqual(told, ['rest']);
});
