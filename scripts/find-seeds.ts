/**
 * `node scripts/find-seeds.ts`: for each mutation of the simulation that its seed finds no more, since another change has made other worlds of
 * all seeds, the first seed that does; written into the test that holds them (test/simulation/mutations.test.ts).
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MUTATIONS, type MutationName, mutationOf } from '../simulation/mutations.ts';
import { simulate } from '../simulation/simulate.ts';

const TEST = join(import.meta.dirname, '../test/simulation/mutations.test.ts');
/** As in the test. */
const STEPS_MAX = 20_000;
const SEEDS_MAX = 1000;

// Some mutations leave failures that nobody waits for.
process.on('unhandledRejection', () => undefined);

async function finds(name: MutationName, seed: number): Promise<boolean> {
  const { sentence, kind } = mutationOf(name);
  const options = { seed, steps: STEPS_MAX, mutations: new Set([name]) };
  const { failure } = await simulate({ ...options, ...(kind !== undefined && { kind }) });
  return failure?.violated.sentence === sentence;
}

async function firstSeed(name: MutationName): Promise<number> {
  for (let seed = 1; seed <= SEEDS_MAX; seed += 1) if (await finds(name, seed)) return seed;
  throw new Error(`no seed up to ${SEEDS_MAX} finds ${name}: what it breaks is not looked at any more`);
}

for (const name of Object.keys(MUTATIONS) as readonly MutationName[]) {
  const test = await readFile(TEST, 'utf8');
  const line = new RegExp(`(?<='${name}': )\\d+(?=,)`);
  const seed = Number(line.exec(test)?.[0]);
  if (await finds(name, seed)) continue;
  const found = await firstSeed(name);
  process.stdout.write(`${name}: ${seed} → ${found}\n`);
  await writeFile(TEST, test.replace(line, String(found)));
}
