/** `npm run simulate -- --seed N --steps N`: simulates, and prints what was found. Exit 1 when an invariant was violated. */
import { parseArgs } from 'node:util';
import type { DatabaseKind } from './catalog.ts';
import { MUTATIONS, type MutationName } from './mutations.ts';
import { type SimulationOptions, simulate } from './simulate.ts';

const KNOWN = Object.keys(MUTATIONS) as readonly MutationName[];
const KINDS: readonly DatabaseKind[] = ['sqlite', 'postgres'];

const USAGE = `npm run simulate -- [--seed N] [--steps N] [--catalog ${KINDS.join('|')}] [--mutate NAME]… [--trace]\nmutations: ${KNOWN.join(', ')}`;

function optionsOf(args: readonly string[]): SimulationOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: 'string', default: '1' },
      steps: { type: 'string', default: '100000' },
      catalog: { type: 'string' },
      mutate: { type: 'string', multiple: true, default: [] },
      trace: { type: 'boolean', default: false },
    },
  });
  const kind = KINDS.find((known) => known === values.catalog);
  if (values.catalog !== undefined && kind === undefined)
    throw new Error(`--catalog ${values.catalog}: expected ${KINDS.join(' or ')}`);
  const mutations = values.mutate.map((name) => {
    const mutation = KNOWN.find((known) => known === name);
    if (mutation === undefined) throw new Error(`--mutate ${name}: expected one of ${KNOWN.join(', ')}`);
    return mutation;
  });
  return {
    seed: wholeNumber('--seed', values.seed),
    steps: wholeNumber('--steps', values.steps),
    ...(kind !== undefined && { kind }),
    mutations: new Set(mutations),
    ...(values.trace && { onLine: (line: string) => process.stdout.write(line) }),
  };
}

function wholeNumber(name: string, text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new Error(`${name} ${text}: expected a whole number`);
  return Number(text);
}

async function main(): Promise<number> {
  let options: SimulationOptions;
  try {
    options = optionsOf(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${USAGE}\n`);
    return 2;
  }
  const startedAt = process.cpuUsage();
  const { worlds, steps, failure } = await simulate(options);
  const { user, system } = process.cpuUsage(startedAt);
  const seconds = (user + system) / 1e6;
  process.stderr.write(
    `${steps} steps in ${worlds} worlds, ${seconds.toFixed(1)} CPU seconds, ${Math.round(steps / seconds)} steps a second\n`,
  );
  if (failure === undefined) return 0;
  const { seed, steps: stepsWanted, step, world, violated, last } = failure;
  const extra = [...(options.mutations ?? [])].map((name) => ` --mutate ${name}`).join('');
  const again = `npm run simulate -- --seed ${seed} --steps ${stepsWanted}${options.kind === undefined ? '' : ` --catalog ${options.kind}`}${extra}`;
  process.stdout.write(
    `${last.join('\n')}\n\nworld ${world}\nseed ${seed}, step ${step}: ${violated.message}\nagain: ${again}\n`,
  );
  return 1;
}

process.exitCode = await main();
