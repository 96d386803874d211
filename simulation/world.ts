/**
 * One simulated installation: a few processes, the catalog and the store that they share, and what goes wrong. Which database it has, how
 * far its clocks differ and how often what breaks is drawn from the seed, so that some worlds are calm and some are hell.
 */
import { monotonicFactory } from 'ulid';
import type { Query } from '../src/domain/query.ts';
import { requireJoined } from '../src/maintenance/installation.ts';
import { Random } from '../test/feature/random-results.ts';
import { CatalogServer, type DatabaseKind } from './catalog.ts';
import { folderOf, replaceReal, SimulatedDisks } from './disk.ts';
import { Host } from './host.ts';
import { Invariants } from './invariants/invariants.ts';
import { type MutationName, Mutations } from './mutations.ts';
import { Network, type NetworkFaults, NO_FAULTS } from './network.ts';
import { Replica, TIMES } from './replica.ts';
import { Scheduler } from './scheduler.ts';
import { Bucket, SimulatedStore } from './store.ts';
import type { Trace } from './trace.ts';
import { Workload } from './workload.ts';

/** 2024-03-05T20:50:59Z. */
const START = 1_709_671_859_000;
const OWNER = { kind: 'user', name: 'ann' } as const;
const SCHEDULES = [undefined, '* * * * *', '*/3 * * * *'];
const MINUTE = 60_000;
/** A frozen process is forgotten by some, and goes on. */
const FROZEN_MILLIS = 40_000;
const RESTART_MILLIS = 15_000;
const OUTAGE_MILLIS = 12_000;
const DAY_MILLIS = 86_400_000;
/** By how much clocks are set forward and back. */
const JUMPS = [-3000, 3000, -20_000, 20_000, -3 * DAY_MILLIS, 3 * DAY_MILLIS];
/** What is done by a clock that was set by less than a day is believed: so far clocks may differ then. */
const JUMPED_APART_MILLIS = 60_000;
/** In the calm all processes know of each other after so long, and are then asked for so long. */
const KNOWN_MILLIS = 90_000;
const ASKED_MILLIS = 60_000;
/** What goes on in the calm, too, such as scheduled runs, has ended and been swept after so long. */
const SETTLED_MILLIS = 5 * MINUTE;
/** How long after the faults have ended everything that was left over must be gone. */
export const CALM_MILLIS = 13 * MINUTE;

export interface WorldOptions {
  readonly seed: number;
  readonly trace: Trace;
  readonly kind?: DatabaseKind;
  readonly mutations?: ReadonlySet<MutationName>;
}

/** What is drawn from the seed. Times are means, in milliseconds. */
interface Character {
  readonly kind: DatabaseKind;
  readonly machines: number;
  readonly clocksApartMillis: number;
  readonly faults: NetworkFaults;
  readonly actMillis: number;
  readonly killMillis: number;
  readonly freezeMillis: number;
  readonly outageMillis: number;
  /** 0: clocks go on and are not set. */
  readonly jumpMillis: number;
}

export class World implements Disposable {
  readonly scheduler: Scheduler;
  readonly invariants: Invariants;
  readonly character: Character;
  readonly #random: Random;
  readonly #network: Network;
  readonly #server: CatalogServer;
  readonly #bucket = new Bucket();
  readonly #disks: SimulatedDisks;
  readonly #real: Disposable;
  readonly #replicas = new Map<string, Replica>();
  readonly #newId: (at: number) => string;
  readonly #mutations: Mutations;
  #workload: Workload | undefined;
  #starts = 0;
  #isCalm = false;
  #hasJumpedByDays = false;

  constructor({ seed, trace, kind, mutations }: WorldOptions) {
    const random = new Random(seed);
    this.#random = random;
    this.scheduler = new Scheduler(random, START, trace);
    this.character = drawCharacter(random, kind);
    this.#network = new Network(this.scheduler);
    this.#mutations = new Mutations(mutations);
    const { jumpMillis } = this.character;
    const clocksApartMillis = this.character.clocksApartMillis + (jumpMillis === 0 ? 0 : JUMPED_APART_MILLIS);
    this.invariants = new Invariants({
      bucket: this.#bucket,
      now: () => this.scheduler.now,
      clocksApartMillis,
      clocksJump: jumpMillis > 0,
      boundMillis: TIMES.stalenessMaxMillis,
    });
    this.#server = new CatalogServer({
      kind: this.character.kind,
      network: this.#network,
      stalenessMaxMillis: TIMES.stalenessMaxMillis,
      onCommit: (changes) => this.invariants.commit(changes),
      onDeadlock: (between) => this.invariants.deadlock(between),
      mutations: this.#mutations,
    });
    this.#disks = new SimulatedDisks(this.scheduler, (machine) => this.#replicas.get(machine)?.host);
    this.#real = replaceReal(this.scheduler, this.#disks);
    const ulid = monotonicFactory(() => this.#fraction());
    this.#newId = (at) => ulid(at);
  }

  /** Fills the catalog and starts everything. */
  async begin(): Promise<void> {
    const host = new Host('setup', this.scheduler);
    const catalog = this.#server.open(host);
    const queries: Query[] = [];
    const fill = async () => {
      await catalog.principals.addUser(OWNER.name, START);
      for (const [index, schedule] of SCHEDULES.entries()) {
        const query = { id: index + 1, owner: OWNER, visibility: 'public', sql: 'select 1' } as const;
        queries.push(await catalog.queries.add({ ...query, ...(schedule !== undefined && { schedule }) }, START));
      }
      const store = this.#store(host, 'setup');
      await requireJoined({ catalog, store }, () => 'simulated');
    };
    await this.#whenDone(fill());
    host.kill();
    const { scheduler, invariants } = this;
    const parts = { scheduler, invariants, random: this.#random, disks: this.#disks, queries, newId: this.#newId };
    this.#workload = new Workload(parts);
    this.#network.faults = this.character.faults;
    for (let machine = 1; machine <= this.character.machines; machine += 1) this.#start(`m${machine}`);
    const { actMillis, killMillis, freezeMillis, outageMillis } = this.character;
    this.#nowAndThen(actMillis, 'a client', () => this.#act());
    this.#nowAndThen(killMillis, 'a death', () => this.#kill());
    this.#nowAndThen(freezeMillis, 'a freeze', () => this.#pick()?.host.freeze(this.#random.below(FROZEN_MILLIS)));
    const { jumpMillis } = this.character;
    if (jumpMillis > 0) this.#nowAndThen(jumpMillis, 'a clock is set', () => this.#jump());
    if (this.character.kind === 'postgres') this.#nowAndThen(outageMillis, 'an outage', () => this.#breakDown());
  }

  /** Nothing fails any more, nobody asks for anything, and everything that was begun ends. */
  async end(stepsMax: number): Promise<void> {
    this.#isCalm = true;
    this.#network.faults = NO_FAULTS;
    for (const { host } of this.#replicas.values()) host.correctClock();
    this.#askForMore();
    const until = this.scheduler.now + CALM_MILLIS;
    for (let steps = 0; this.scheduler.now < until && this.invariants.violations.first === undefined; steps += 1) {
      if (steps > stepsMax) throw new Error(`after ${stepsMax} more steps the world is not calm yet`);
      await this.scheduler.step();
    }
    const oldest = this.scheduler.now - SETTLED_MILLIS;
    this.invariants.runs.inTheEnd(['query:2', 'query:3'], oldest);
    // After a jump by days nothing is deleted for a day.
    if (!this.#hasJumpedByDays) this.invariants.results.inTheEnd(oldest);
    this.invariants.usage.inTheEnd();
  }

  [Symbol.dispose](): void {
    for (const { host } of this.#replicas.values()) host.kill();
    this.#real[Symbol.dispose]();
    this.#server.database.close();
  }

  async #whenDone(work: Promise<void>): Promise<void> {
    let isDone = false;
    const done = work.finally(() => {
      isDone = true;
    });
    while (!isDone) await this.scheduler.step();
    await done;
  }

  #store(host: Host, machine: string): SimulatedStore {
    const folder = `${folderOf(machine)}/read`;
    return new SimulatedStore(this.#bucket, this.#network, { host, files: this.#disks, folder });
  }

  #fraction(): number {
    return this.#random.below(2 ** 30) / 2 ** 30;
  }

  #start(machine: string): void {
    this.#starts += 1;
    const { clocksApartMillis } = this.character;
    const aheadMillis = clocksApartMillis === 0 ? 0 : this.#random.below(clocksApartMillis);
    const host = new Host(`${machine}.${this.#starts}`, this.scheduler, { aheadMillis, drift: 0 });
    const parts = { catalog: this.#server.open(host), store: this.#store(host, machine), clock: host.clock };
    const replica = new Replica({
      host,
      machine,
      ...parts,
      ...this.#mutations.breakParts(parts),
      disks: this.#disks,
      invariants: this.invariants,
      newId: this.#newId,
      random: () => this.#fraction(),
    });
    this.#replicas.set(machine, replica);
    replica.run().catch((error: unknown) => this.invariants.fault(host, 'the process', error));
  }

  #pick(): Replica | undefined {
    const living = [...this.#replicas.values()].filter(({ host }) => !host.isDead && !host.isFrozen);
    return living.length === 0 ? undefined : this.#random.pick(living);
  }

  #act(): void {
    const [one, other] = [this.#pick(), this.#pick()];
    if (one !== undefined && other !== undefined) void this.#workload?.act(one, other);
  }

  /** Killed at once, or asked to stop; another process starts on the machine after a while. */
  #kill(): void {
    const chosen = this.#pick();
    const [machine, replica] = [...this.#replicas].find(([, each]) => each === chosen) ?? [];
    if (replica === undefined || machine === undefined || replica.stopping.signal.aborted) return;
    const restart = () => {
      replica.kill(this.#random.chance(30));
      const delayMillis = this.#random.below(RESTART_MILLIS);
      this.scheduler.schedule({ delayMillis, name: `${machine} starts again`, run: () => this.#start(machine) });
    };
    if (this.#random.chance(30)) {
      replica.stopping.abort(new Error('the process was stopped'));
      this.scheduler.schedule({ delayMillis: 10_000, name: `${machine} has stopped`, run: restart });
    } else restart();
  }

  #jump(): void {
    const millis = this.#random.pick(JUMPS);
    if (Math.abs(millis) > DAY_MILLIS) this.#hasJumpedByDays = true;
    this.#pick()?.host.jump(millis);
  }

  /** When all processes know of each other, each is asked for more than the limit of all. */
  #askForMore(): void {
    const { scheduler, invariants } = this;
    const ask = () => {
      for (const { host, limit } of this.#replicas.values())
        if (!host.isDead) for (let n = 0; n < 2; n += 1) limit.ask();
    };
    const at = (delayMillis: number, name: string, run: () => void) => scheduler.schedule({ delayMillis, name, run });
    at(KNOWN_MILLIS, 'requests begin', () => invariants.limits.begin(scheduler.now));
    for (let after = 0; after < ASKED_MILLIS; after += 400) at(KNOWN_MILLIS + after + 1, 'requests', ask);
    at(KNOWN_MILLIS + ASKED_MILLIS, 'requests end', () => invariants.limits.end(scheduler.now));
  }

  #breakDown(): void {
    const { postgres } = this.#server;
    postgres.isDown = true;
    postgres.endAll();
    const run = () => {
      postgres.isDown = false;
    };
    this.scheduler.schedule({ delayMillis: this.#random.below(OUTAGE_MILLIS), name: 'the database is back', run });
  }

  /** Again and again, at moments that nobody can foresee, until the world is calm. */
  #nowAndThen(meanMillis: number, name: string, happen: () => void): void {
    const run = () => {
      if (this.#isCalm) return;
      this.#nowAndThen(meanMillis, name, happen);
      happen();
    };
    this.scheduler.schedule({ delayMillis: this.#random.below(2 * meanMillis), name, run });
  }
}

function drawCharacter(random: Random, kind?: DatabaseKind): Character {
  const drawn = kind ?? random.pick(['sqlite', 'postgres', 'postgres']);
  const clocksApartMillis = random.pick([0, 50, 2000]);
  return {
    kind: drawn,
    machines: 2 + random.below(3),
    // Processes that share a file share a machine, and its clock.
    clocksApartMillis: drawn === 'sqlite' ? 0 : clocksApartMillis,
    faults: {
      slow: random.pick([0, 20, 200]),
      lost: random.pick([0, 0, 10, 60]),
      answerLost: random.pick([0, 0, 10, 60]),
      doubled: random.pick([0, 20, 200]),
    },
    actMillis: random.pick([100, 300]),
    killMillis: random.pick([20_000, 60_000, 300_000]),
    freezeMillis: random.pick([20_000, 60_000, 300_000]),
    outageMillis: random.pick([60_000, 300_000]),
    jumpMillis: drawn === 'sqlite' ? 0 : random.pick([0, 0, 30_000]),
  };
}
