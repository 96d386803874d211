/**
 * What clients and operators do: runs are submitted (some twice) and cancelled, results published (some by two at once) and read, keys made
 * and revoked. Each goes to some process that lives; if that is killed meanwhile, nobody hears of it again.
 */
import { IllegalTransition } from '../src/catalog/catalog.ts';
import { STATES, stateAt } from '../src/domain/execution.ts';
import type { Query } from '../src/domain/query.ts';
import { objectsOf } from '../src/domain/result-set.ts';
import { TimeLimit } from '../src/domain/time.ts';
import { RequestError } from '../src/errors/errors.ts';
import { answerOnce } from '../src/http/writing/idempotency.ts';
import { createKey } from '../src/keys/create-key.ts';
import { hashKey } from '../src/keys/key-hash.ts';
import { PublishError } from '../src/publishing/publish-error.ts';
import { ObjectDamaged } from '../src/store/result-store.ts';
import type { Random } from '../test/feature/random-results.ts';
import type { SimulatedDisks } from './disk.ts';
import { stagedRows } from './engine.ts';
import { type Invariants, isExpected } from './invariants/invariants.ts';
import { type Replica, TIMES } from './replica.ts';
import type { Scheduler } from './scheduler.ts';

const KEYS_MAX = 6;
const LONG_READ_MILLIS = 30_000;
const AGAIN_MILLIS = 20_000;
const ALL = { from: 0, to: Number.POSITIVE_INFINITY };
const OWNER = { kind: 'user', name: 'ann' } as const;
/** Errors that a client may be told of what it asked. */
const TOLD = [RequestError, PublishError, IllegalTransition];

interface Key {
  readonly id: string;
  readonly text: string;
}

export interface WorkloadParts {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly disks: SimulatedDisks;
  readonly invariants: Invariants;
  readonly queries: readonly Query[];
  readonly newId: (at: number) => string;
}

export class Workload {
  readonly #parts: WorkloadParts;
  readonly #keys: Key[] = [];
  /** Ids of runs that clients know of; the newest last. */
  readonly #known: string[] = [];
  readonly #random: Random;

  constructor(parts: WorkloadParts) {
    this.#parts = parts;
    this.#random = parts.random;
  }

  /** Something, by a process that lives. */
  async act(replica: Replica, other: Replica): Promise<void> {
    const chance = this.#random.below(100);
    if (this.#keys.length === 0 || chance < 3) await this.#tell(replica, 'a new key', () => this.#addKey(replica));
    else if (chance < 5) await this.#tell(replica, 'revoking', () => this.#revokeKey(replica));
    else if (chance < 17) await this.#submit(replica, other);
    else if (chance < 20) await this.#submitOnce(replica, other);
    else if (chance < 24) await this.#tell(replica, 'cancelling', () => this.#cancel(replica));
    else if (chance < 34) await this.#publish(replica, other);
    else if (chance < 38) await this.#tell(replica, 'a long read', () => this.#readLong(replica));
    else await this.#tell(replica, 'a read', () => this.#read(replica));
  }

  async #addKey(replica: Replica): Promise<void> {
    if (this.#keys.length >= KEYS_MAX) return;
    const bytes = (length: number) => Uint8Array.from({ length }, () => this.#random.below(256));
    const { id, key } = await createKey(replica.catalog.principals, OWNER, {}, replica.host.clock(), bytes);
    this.#keys.push({ id, text: key });
  }

  /** Its client goes on using it for a while. */
  async #revokeKey(replica: Replica): Promise<void> {
    const key = this.#random.pick(this.#keys);
    await replica.catalog.principals.revokeKey(key.id, replica.host.clock());
    const forget = () => void this.#keys.splice(this.#keys.indexOf(key) >>> 0, 1);
    this.#parts.scheduler.schedule({
      delayMillis: 3 * TIMES.stalenessMaxMillis,
      name: `${key.id} is forgotten`,
      run: forget,
    });
  }

  /** A client that hears nothing sends its request again, to another process. */
  async #submit(replica: Replica, other: Replica): Promise<void> {
    const query = this.#random.pick(this.#parts.queries);
    const keyId = this.#random.pick(this.#keys).id;
    const submit = async (to: Replica) => {
      const { id } = await to.queue.submit({ query, parameters: {}, keyId });
      this.#parts.invariants.runs.accept(id);
      this.#known.push(id);
    };
    const both = this.#random.chance(20) ? [replica, other] : [replica];
    await Promise.all(both.map((to) => this.#tell(to, 'submitting', () => submit(to))));
  }

  /** Under an idempotency key, perhaps to two processes at once, and again when nothing was heard, or all the same. */
  async #submitOnce(replica: Replica, other: Replica): Promise<void> {
    const { scheduler, invariants, newId } = this.#parts;
    const query = this.#random.pick(this.#parts.queries);
    const keyId = this.#random.pick(this.#keys).id;
    const name = newId(Math.floor(scheduler.now));
    const send = async (to: Replica) => {
      const request = { keyId, header: name, fingerprint: () => name, readBody: async () => undefined };
      const { body } = await answerOnce(request, to.idempotency, async (commit) => {
        const answer = await commit(async ({ runs }) => {
          const { id } = await to.queue.enqueue({ query, parameters: {}, keyId }, runs);
          return { status: 200, body: { execution_id: id } };
        });
        to.queue.notify({ kind: 'submitted' });
        return answer;
      });
      const { execution_id: id } = JSON.parse(body) as { execution_id: string };
      invariants.runs.accept(id);
      invariants.requests.answered(name, body);
      this.#known.push(id);
    };
    const sendTo = (to: Replica) => this.#tell(to, 'submitting once', () => send(to));
    const again = () => void (other.host.isDead || sendTo(other));
    const delayMillis = this.#random.below(AGAIN_MILLIS);
    scheduler.schedule({ delayMillis, name: `${name} is sent again`, run: again });
    await sendTo(replica);
  }

  async #cancel(replica: Replica): Promise<void> {
    const id = this.#known.at(-1 - this.#random.below(5));
    if (id !== undefined) await replica.queue.cancel(id);
  }

  async #publish(replica: Replica, other: Replica): Promise<void> {
    const { invariants, disks, newId } = this.#parts;
    const { id: queryId } = this.#random.pick(this.#parts.queries);
    const publish = async (by: Replica, executionId?: string) => {
      const id = await by.publish(
        queryId,
        stagedRows(disks, () => this.#random.below(2 ** 30) / 2 ** 30),
        executionId,
      );
      invariants.runs.accept(id);
      this.#known.push(id);
    };
    if (this.#random.chance(60)) return await this.#tell(replica, 'publishing', () => publish(replica));
    await this.#tell(replica, 'publishing a run', async () => {
      const submittedAt = replica.host.clock();
      const run = { id: newId(submittedAt), queryId, parameters: {}, state: 'PENDING', submittedAt } as const;
      await replica.catalog.executions.add(run);
      const both = this.#random.chance(50) ? [replica, other] : [replica];
      await Promise.all(both.map((by) => this.#tell(by, 'publishing a run', () => publish(by, run.id))));
    });
  }

  /** Whose key it is, which run is meant (one that a client knows, or the latest), and all its objects: as the stages of a request do it. */
  async #read(replica: Replica): Promise<void> {
    const { scheduler, invariants } = this.#parts;
    const startedAt = scheduler.now;
    const asked = await this.#resolve(replica);
    if (asked === undefined) return;
    const { executionId, resultSet } = asked;
    using limit = new TimeLimit(TIMES.readTimeoutMillis, replica.host.sleep);
    for (const object of objectsOf(resultSet)) {
      try {
        await using _ = await replica.store.open(object, ALL, limit.signal);
      } catch (error) {
        if (!(error instanceof ObjectDamaged)) throw error;
        // A process that was frozen finds out late that it has no time left.
        const isInTime = scheduler.now - startedAt < TIMES.readTimeoutMillis;
        if (isInTime) invariants.results.incomplete(executionId, startedAt, error.message);
        return;
      }
    }
    replica.answered(asked.keyId, asked.queryId);
  }

  /** Reads object after object, with pauses in which the result may expire. */
  async #readLong(replica: Replica): Promise<void> {
    const { invariants, scheduler } = this.#parts;
    const asked = await this.#resolve(replica);
    if (asked === undefined) return;
    const startedAt = scheduler.now;
    const { executionId, resultSet } = asked;
    await using _ = await replica.readLeases.hold(executionId);
    const isLeased = () => invariants.leases.isHeld(`read:${executionId}:`, replica.host.name, scheduler.now);
    using _held = invariants.results.hold(resultSet, isLeased);
    const { signal } = replica.stopping;
    for (const object of objectsOf(resultSet)) {
      await replica.host.sleep(this.#random.below(LONG_READ_MILLIS), signal);
      // One that was frozen for longer than its lease finds its objects gone, and says so.
      const isHeld = isLeased();
      try {
        await using opened = await replica.store.open(object, ALL, signal);
        void opened;
      } catch (error) {
        if (!(error instanceof ObjectDamaged)) throw error;
        if (isHeld) invariants.results.incomplete(executionId, startedAt, error.message);
        return;
      }
    }
    replica.answered(asked.keyId, asked.queryId);
  }

  async #resolve(replica: Replica) {
    const { scheduler, invariants } = this.#parts;
    const { cache } = replica;
    const key = this.#random.pick(this.#keys);
    const { id: queryId } = this.#random.pick(this.#parts.queries);
    const startedAt = scheduler.now;
    if ((await cache.principal(key.text, hashKey(key.text))) === undefined) return undefined;
    invariants.keys.used(key.id, startedAt);
    const now = replica.readClock();
    const ownNow = replica.host.clock();
    const execution = this.#random.chance(40)
      ? await cache.execution(this.#random.pick(this.#known.length === 0 ? [''] : this.#known))
      : (await cache.latest(queryId, {}, now))?.execution;
    if (execution === undefined) return undefined;
    if (!STATES[stateAt(execution, now)].hasResult) return undefined;
    invariants.results.served(execution.id, startedAt, ownNow);
    const resultSet = await cache.resultSet(execution.id);
    if (resultSet === undefined) return undefined;
    return { keyId: key.id, queryId: execution.queryId, executionId: execution.id, resultSet };
  }

  /** Clients are told of what they did wrong; what breaks is the world's doing; anything else is a violation. */
  async #tell(replica: Replica, what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (TOLD.some((type) => error instanceof type) || replica.stopping.signal.aborted) return;
      if (!isExpected(error)) this.#parts.invariants.fault(replica.host, what, error);
    }
  }
}
