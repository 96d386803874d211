/** Kills what the service is made of, one after the other, and starts it again; measures until every replica does its whole work again. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Cluster } from '../cluster.ts';
import type { Replica } from '../replica.ts';
import type { Figures, KillKind } from './figures.ts';
import { Writer } from './writer.ts';

/** How long something stays dead. */
const DEAD_MILLIS = 1500;
const PAUSE_MILLIS = 1500;
const PROBE_MILLIS = 25;
/** Beyond this it has not recovered. */
const RECOVERY_MILLIS_MAX = 60_000;

export interface Victim {
  readonly kind: KillKind;
  readonly name: string;
  kill(): Promise<void>;
  resume(): Promise<void>;
}

/** Replicas and servers in turn, so that no two replicas follow each other where there is anything else. */
export function victimsOf({ replicas, servers }: Pick<Cluster, 'replicas' | 'servers'>): readonly Victim[] {
  const shared = servers.map(
    (server): Victim => ({
      kind: server.name,
      name: server.name,
      kill: async () => await server.kill(),
      resume: async () => await server.resume(),
    }),
  );
  const own = replicas.map(
    (replica): Victim => ({
      kind: 'replica',
      name: replica.name,
      kill: async () => await replica.kill(),
      resume: async () => await replica.resume(),
    }),
  );
  const turns = Math.max(shared.length, own.length);
  return Array.from({ length: turns }, (_, n) => [own[n % own.length], shared[n % shared.length]])
    .flat()
    .filter((victim) => victim !== undefined);
}

export class Kills {
  /** When replicas were dead, as `performance.now()`. */
  readonly #deadReplicas: { readonly from: number; until: number }[] = [];
  readonly #cluster: Cluster;
  readonly #figures: Figures;
  /** Publishes a little through a replica. */
  readonly #probe: (writer: Writer) => Promise<void>;
  readonly #key: string;

  constructor(cluster: Cluster, figures: Figures, key: string, probe: (writer: Writer) => Promise<void>) {
    this.#cluster = cluster;
    this.#figures = figures;
    this.#key = key;
    this.#probe = probe;
  }

  /** Whether a replica died, or was dead, since then: what broke may have broken by that. */
  replicaWasDeadSince(at: number): boolean {
    return this.#deadReplicas.some(({ until }) => until > at);
  }

  /** Until the end; what is dead then is started again. @param tell of each kill */
  async killOn(end: AbortSignal, tell: (line: string) => void): Promise<void> {
    const victims = victimsOf(this.#cluster);
    await pause(PAUSE_MILLIS, end);
    for (let turn = 0; !end.aborted; turn += 1) {
      const victim = victims[turn % victims.length];
      if (victim === undefined) throw new Error('there is nothing to kill');
      await this.#killOne(victim, tell);
      await pause(PAUSE_MILLIS, end);
    }
  }

  async #killOne(victim: Victim, tell: (line: string) => void): Promise<void> {
    const dead = { from: performance.now(), until: Number.POSITIVE_INFINITY };
    if (victim.kind === 'replica') this.#deadReplicas.push(dead);
    await victim.kill();
    await wait(DEAD_MILLIS);
    const from = performance.now();
    await victim.resume();
    dead.until = performance.now();
    await Promise.all(this.#cluster.replicas.map((replica) => this.#recovered(replica)));
    const millis = performance.now() - from;
    this.#figures.addRecovery(victim.kind, millis);
    tell(`${victim.name} was killed; all was well ${(millis / 1000).toFixed(1)} s after it was started again`);
  }

  async #recovered(replica: Replica): Promise<void> {
    await using writer = new Writer(replica.url, this.#key, 0);
    const limit = performance.now() + RECOVERY_MILLIS_MAX;
    for (;;) {
      try {
        return await this.#probe(writer);
      } catch (error) {
        if (performance.now() > limit) throw new Error(`${replica.name} has not recovered`, { cause: error });
        await wait(PROBE_MILLIS);
      }
    }
  }
}

export async function pause(millis: number, end: AbortSignal): Promise<void> {
  await wait(millis, undefined, { signal: end }).catch(() => undefined);
}
