/** That the simulation finds what it should: for each sentence that it checks, a mutation that makes it false is found with a given seed. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { MUTATIONS, type MutationName, mutationOf } from '../../simulation/mutations.ts';
import { simulate } from '../../simulation/simulate.ts';

const ROOT = join(import.meta.dirname, '../..');
const STEPS_MAX = 20_000;

/** The seed of the world in which each is found. Some are found only in the calm at its end. */
const SEEDS: Readonly<Record<MutationName, number>> = {
  'put-not-awaited': 8,
  'sweep-sees-no-manifest': 1,
  'sweep-sees-no-readers': 9,
  'sweep-clock-ahead': 2,
  'read-clock-behind': 1,
  'any-lease-commits': 12,
  'sweep-lists-nothing': 2,
  'accepted-before-commit': 1,
  'any-state-follows': 1,
  'claimed-once': 1,
  'tick-claimed-again': 1,
  'schedule-forgotten': 1,
  'same-run-not-found': 1,
  'lease-race': 1,
  'tokens-stand-still': 1,
  'usage-without-number': 135,
  'usage-failure-swallowed': 1,
  'others-not-seen': 1,
  'limit-not-divided': 1,
  'kept-answer-not-found': 2,
  'oldest-kept': 1,
  'deaf-to-changes': 1,
  'usage-race': 22,
  'second-batch-refused': 1,
  'end-not-awaited': 1,
};

/** What a process of its own finds: the runner of tests takes a failure that nobody heard of for one of the test. */
function foundByCommand(name: MutationName): string {
  const given = ['--seed', `${SEEDS[name]}`, '--steps', `${STEPS_MAX}`, '--mutate', name];
  const { stdout } = spawnSync(process.execPath, [join(ROOT, 'simulation/run.ts'), ...given], { encoding: 'utf8' });
  return stdout;
}

for (const name of Object.keys(MUTATIONS) as readonly MutationName[]) {
  test(`${name} is found in one world`, async () => {
    const { sentence, kind } = mutationOf(name);
    if (name === 'end-not-awaited') {
      assert.ok(foundByCommand(name).includes(`: ${sentence} Found: `));
      return;
    }
    const options = { seed: SEEDS[name], steps: STEPS_MAX, mutations: new Set([name]) };
    const { failure } = await simulate({ ...options, ...(kind !== undefined && { kind }) });
    assert.equal(failure?.violated.sentence, sentence, failure?.violated.message);
  });
}

test('a mutation that is found is found again at the same step, and its world is clean without it', async () => {
  for (const name of ['lease-race', 'usage-race'] as const) {
    const world = { kind: 'postgres', seed: SEEDS[name] } as const;
    const { failure } = await simulate({ ...world, steps: STEPS_MAX, mutations: new Set([name]) });
    assert.ok(failure !== undefined);
    const again = await simulate({ ...world, steps: failure.steps, mutations: new Set([name]) });
    assert.deepEqual(again.failure, failure);
    assert.equal((await simulate({ ...world, steps: failure.steps })).failure, undefined);
  }
});

test('each sentence of the invariants has a mutation, and stands beside it in the documentation', () => {
  const folder = join(ROOT, 'simulation/invariants');
  const files = [...readdirSync(folder).map((file) => join(folder, file)), join(ROOT, 'simulation/simulate.ts')];
  const sentences = files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/'([A-Z][^'\n]*\.)'/g)].map(([, sentence]) => sentence),
  );
  assert.ok(sentences.length > 20);
  const all = Object.entries(MUTATIONS);
  assert.deepEqual(new Set(all.map(([, { sentence }]) => sentence)), new Set(sentences));
  const documented = readFileSync(join(ROOT, 'docs/simulation.md'), 'utf8');
  for (const [name, { sentence }] of all) {
    const row = documented.split('\n').find((line) => line.includes(`| \`${name}\` |`)) ?? '';
    assert.ok(row.startsWith(`| ${sentence.slice(0, -1)}`), `${name}: ${row}`);
  }
});
