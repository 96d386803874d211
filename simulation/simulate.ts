/** Simulates worlds one after another, each with a seed of its own, until so many steps were taken or an invariant was violated. */
import type { DatabaseKind } from './catalog.ts';
import type { InvariantViolated } from './invariants/violations.ts';
import type { MutationName } from './mutations.ts';
import { Trace } from './trace.ts';
import { World } from './world.ts';

/** A world is not much longer: its catalog grows, and another one has another character. */
export const WORLD_STEPS = 20_000;
const CALM_STEPS_MAX = 200_000;

export interface SimulationOptions {
  readonly seed: number;
  readonly steps: number;
  readonly kind?: DatabaseKind;
  readonly mutations?: ReadonlySet<MutationName>;
  /** Leaves out the calm at the end of each world, and what is checked after it. */
  readonly skipsCalm?: boolean;
  /** Told of every line of the trace. */
  readonly onLine?: (line: string) => void;
}

export interface Simulated {
  readonly worlds: number;
  readonly steps: number;
  /** Of the traces of all worlds. */
  readonly hash: string;
  readonly failure?: Failure;
}

export interface Failure {
  /** This seed alone repeats it. */
  readonly seed: number;
  /** So many steps of it, before the world becomes calm. */
  readonly steps: number;
  readonly step: number;
  readonly world: string;
  readonly violated: InvariantViolated;
  /** The last lines of the trace. */
  readonly last: readonly string[];
}

export async function simulate({
  seed,
  steps,
  kind,
  mutations,
  onLine,
  skipsCalm = false,
}: SimulationOptions): Promise<Simulated> {
  const hashes: string[] = [];
  let taken = 0;
  for (let worlds = 1; ; worlds += 1) {
    const trace = new Trace(onLine);
    using world = new World({
      seed: seed + worlds - 1,
      trace,
      ...(kind !== undefined && { kind }),
      ...(mutations !== undefined && { mutations }),
    });
    const { scheduler, invariants, character } = world;
    let stepsWanted = 0;
    const unhandled = (error: unknown) => invariants.violations.found('No failure goes unnoticed.', `${error}`);
    process.on('unhandledRejection', unhandled);
    try {
      await world.begin();
      while (scheduler.steps < Math.min(WORLD_STEPS, steps - taken) && invariants.violations.first === undefined) {
        await scheduler.step();
      }
      stepsWanted = scheduler.steps;
      if (invariants.violations.first === undefined && !skipsCalm) await world.end(CALM_STEPS_MAX);
    } finally {
      process.off('unhandledRejection', unhandled);
    }
    taken += scheduler.steps;
    hashes.push(trace.hash);
    const done = { worlds, steps: taken, hash: hashes.join(' ') };
    const violated = invariants.violations.first;
    if (violated !== undefined) {
      const failure = {
        seed: seed + worlds - 1,
        steps: stepsWanted,
        step: scheduler.steps,
        world: JSON.stringify(character),
        violated,
        last: trace.last(),
      };
      return { ...done, failure };
    }
    if (taken >= steps) return done;
  }
}
