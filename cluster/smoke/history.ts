/** What the service has acknowledged, and since when: what answers must show from then on, and what must be there at the end. */
import { Wrong } from '../../soak/client.ts';
import type { Run } from '../../soak/rows.ts';
import type { Published, World } from '../../soak/world.ts';

/** `QRS_CATALOG_STALENESS` by default. */
export const STALENESS_MILLIS = 1000;

export interface Acknowledged {
  readonly run: Run;
  readonly executionId: string;
  /** When the answer came, as `performance.now()`. */
  readonly at: number;
}

export class History {
  readonly world: World;
  /** In the order of their answers. */
  readonly published: Acknowledged[] = [];
  /** Runs that the service carried out itself: what `execute` answered. */
  readonly executed: Acknowledged[] = [];
  /** How long a revoked key was still answered, in milliseconds from the answer that it is revoked. */
  readonly revokedMillis: number[] = [];

  constructor(world: World) {
    this.world = world;
  }

  /** The world for a read that begins now: rows older than what was acknowledged before the bound are wrong. */
  now(): Published {
    const { world } = this;
    const since = performance.now() - STALENESS_MILLIS;
    const known = new Map<number, number>();
    for (const { run, at } of this.published) if (at < since) known.set(run.queryId, run.number);
    return {
      datasetPath: world.datasetPath,
      revokedKeys: world.revokedKeys,
      someQuery: (below) => world.someQuery(below),
      runsOf: (queryId) => world.runsOf(queryId),
      parquetSums: async (bytes) => await world.parquetSums(bytes),
      runOf: (path, queryId, number) => {
        const run = world.runOf(path, queryId, number);
        const newest = known.get(queryId) ?? 0;
        if (number === undefined || run.number >= newest) return run;
        throw new Wrong(`${path}: run ${run.number}, though run ${newest} was acknowledged more than a second before`);
      },
    };
  }
}
