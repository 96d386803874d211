/**
 * The law of the latest run: after any steps of two processes at once, with times that are often equal, the latest run of a query, and the
 * latest as of any time, are those that a plain look through the list of all runs finds.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Catalog, CatalogConflict, IllegalTransition } from '../../../src/catalog/catalog.ts';
import { type Execution, STATES } from '../../../src/domain/execution.ts';
import { Random } from '../../feature/random-results.ts';
import { addQuery, type CatalogFactory, completion, executionId, NOON } from './fixture.ts';

const SEED = Number(process.env.TEST_SEED ?? 1);
const ROUNDS = Number(process.env.TEST_CASES ?? 12);
const STEPS_AT_ONCE = 6;
/** Of milliseconds after NOON: few, so that many runs have the same. */
const TIMES = [0, 1, 2, 1000];
const CHAINS = ['base', 'Base', ''];

type Parameters = Readonly<Record<string, string>>;

export function latestLaw(prepare: CatalogFactory): void {
  test(`the latest run is the one that a look through all runs finds (seed ${SEED})`, async (t) => {
    const random = new Random(SEED);
    const open = await prepare(t);
    const catalogs = [await open(), await open()];
    const [one] = catalogs;
    assert(one !== undefined);
    await addQuery(one);
    let added = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const steps = Array.from({ length: STEPS_AT_ONCE }, async () => {
        if (random.chance(50)) added += 1;
        await takeStep(random.pick(catalogs), random, 1 + random.below(added + 1)).catch((error: unknown) => {
          if (!(error instanceof IllegalTransition || error instanceof CatalogConflict)) throw error;
        });
      });
      await Promise.all(steps);
      for (const catalog of catalogs) await check(catalog, random, `round ${round} of seed ${SEED}`);
    }
  });
}

/** What may happen to a run, whatever state it is in. */
async function takeStep(catalog: Catalog, random: Random, number: number): Promise<void> {
  const { executions, leases } = catalog;
  const id = executionId(number);
  const at = NOON + random.pick(TIMES);
  const run: Execution = { id, queryId: 7, parameters: randomParameters(random), state: 'PENDING', submittedAt: at };
  const finished = completion({
    startedAt: at,
    endedAt: at + random.pick(TIMES),
    expiresAt: NOON + random.pick([1000, 5000]),
  });
  const step = random.pick([
    'add',
    'publish',
    'publish',
    'publish',
    'start',
    'finish',
    'fail',
    'cancel',
    'expire',
    'prune',
  ]);
  if (step === 'add') return await executions.add(run);
  if (step === 'start') return void (await executions.start(id, at));
  if (step === 'fail') return void (await executions.fail(id, { type: 'x', message: 'y' }, at));
  if (step === 'cancel') return void (await executions.cancel(id, at));
  if (step === 'expire') return await executions.expire(id);
  if (step === 'prune') return await executions.expireAt(id, NOON + random.pick(TIMES));
  const lease = await leases.acquire(`write:${id}`, 'test', 60_000);
  if (lease === undefined) return;
  try {
    if (step === 'finish') await executions.complete(id, finished, lease);
    else await executions.addCompleted(run, finished, lease, { clock: () => at, after: undefined });
  } catch (error) {
    await leases.release(lease);
    throw error;
  }
}

function randomParameters(random: Random): Parameters {
  return {
    ...(random.chance(70) && { chain: random.pick(CHAINS) }),
    ...(random.chance(30) && { day: random.pick(['1', '2']) }),
  };
}

async function check(catalog: Catalog, random: Random, about: string): Promise<void> {
  const runs = await catalog.executions.list({ queryId: 7, limit: 10_000 });
  for (let n = 0; n < 8; n += 1) {
    const parameters = n === 0 ? {} : randomParameters(random);
    const now = NOON + random.pick([...TIMES, 999, 4999, 5000]);
    const asOf = NOON + random.pick([...TIMES, -1, 1002, 2000]);
    const except = random.chance(20) ? runs.slice(0, 2).map(({ id }) => id) : [];
    const having = runs.filter(
      (run) =>
        !except.includes(run.id) && Object.entries(parameters).every(([name, value]) => run.parameters[name] === value),
    );
    const stored = having.filter(({ state, expiresAt = 0 }) => STATES[state].hasResult && expiresAt > now);
    const ended = stored.find(({ endedAt = Number.POSITIVE_INFINITY }) => endedAt <= asOf);
    const asked = JSON.stringify({ parameters, now, asOf, except });
    const latest = await catalog.executions.findLatest(7, parameters, now, except);
    assert.deepEqual(latest, stored[0] ?? having[0], `${about}: the latest of ${asked}`);
    const search = { queryId: 7, parameters, asOf, now };
    assert.deepEqual(await catalog.browsing.findLatestAsOf(search, except), ended, `${about}: as of, ${asked}`);
  }
}
