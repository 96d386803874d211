/**
 * The supervisor of the workers: starts them, replaces those that end, answers their questions, and stops them. It serves no
 * request itself, so no request can harm it.
 */
import type { Sleep } from '../domain/time.ts';
import type { Allowance, TokenBuckets } from '../domain/token-buckets.ts';
import { StartupError } from '../errors/startup-error.ts';
import type { FromWorker, Question, Questions, TokenGrant, WorkerProcess, WorkerRole } from './messages.ts';

export interface SuperviseOptions {
  readonly count: number;
  readonly replica: WorkerRole['replica'];
  readonly configuration?: WorkerRole['configuration'];
  readonly fork: () => WorkerProcess;
  /** Shared by all workers; undefined where requests are not limited. */
  readonly tokens: TokenBuckets | undefined;
  /** Adds what an ended worker told last of its metrics to what is kept of those that ended before; undefined is nothing. */
  readonly addEnded: (ended: unknown, last: unknown) => unknown;
  /** Told when a worker ended that nobody had asked to end. Its replacement starts after the pause. */
  readonly onEnded: (worker: { readonly index: number; readonly why: string; readonly pauseMillis: number }) => void;
  /** A worker that goes on for so long after it was asked to stop hangs, and is killed. */
  readonly stopMillis: number;
  readonly sleep: Sleep;
  /** Milliseconds that never go back. */
  readonly monotonic: () => number;
}

/** A worker that ends soon after its start is replaced after a pause. The pause doubles each time, up to this. */
const PAUSE_MILLIS_MAX = 30_000;
const PAUSE_MILLIS_MIN = 500;
/** A worker that ran this long did not end because of its start. */
const SETTLED_MILLIS = 60_000;
/** A worker gets 1/(4 × workers) of a key's tokens at a time, so enough stays for the other workers. */
const SHARES_PER_WORKER = 4;
/** A scrape waits this long for a busy worker; then it has what that worker told last, since counters must not go back. */
const COLLECT_MILLIS_MAX = 2000;

type Asked = Extract<FromWorker, { readonly kind: 'ask' }>;

const UNLIMITED: Allowance = { allowed: true, remaining: 0, seconds: 1 };

export class Supervisor {
  readonly #options: SuperviseOptions;
  readonly #workers = new Map<number, WorkerProcess>();
  readonly #places: Promise<void>[] = [];
  readonly #stopping = new AbortController();
  readonly #urls = new Map<number, string>();
  /** Those that get connections. */
  readonly #serving = new Set<WorkerProcess>();
  readonly #collected = new Map<number, () => void>();
  /** What each worker told last. */
  readonly #metrics = new Map<number, unknown>();
  /** What is kept of the metrics of workers that ended, since counters must not go back. */
  #endedMetrics: unknown;
  readonly #listening = Promise.withResolvers<string>();
  #questions = 0;

  constructor(options: SuperviseOptions) {
    this.#options = options;
    for (let index = 0; index < options.count; index++) this.#places.push(this.#keep(index));
  }

  /**
   * The address, once every worker has listened on it.
   * @throws StartupError when a worker ended before that
   */
  get listening(): Promise<string> {
    return this.#listening.promise;
  }

  /**
   * Asks every worker to stop. Resolves when all have ended.
   * @throws when one had to be killed: it would hear neither the signal nor that its supervisor is gone, and stay for ever
   */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the service is stopping'));
    for (const worker of this.#workers.values()) worker.stop();
    const ended = new AbortController();
    const late = this.#options.sleep(this.#options.stopMillis, ended.signal).then(
      () => this.#killAll(),
      () => [],
    );
    await Promise.all(this.#places);
    ended.abort();
    const killed = await late;
    if (killed.length > 0) throw new Error(`worker ${killed.join(', ')} did not stop and was killed`);
  }

  /** @returns which were still there */
  #killAll(): readonly number[] {
    for (const worker of this.#workers.values()) worker.kill();
    return [...this.#workers.keys()];
  }

  /** Keeps one worker running in this place until the supervisor stops. */
  async #keep(index: number): Promise<void> {
    const { fork, onEnded, sleep, monotonic } = this.#options;
    const { signal } = this.#stopping;
    let pauseMillis = PAUSE_MILLIS_MIN;
    while (!signal.aborted) {
      const start = monotonic();
      const worker = fork();
      this.#workers.set(index, worker);
      worker.onMessage((message) => this.#receive(index, worker, message));
      const why = await worker.ended;
      this.#workers.delete(index);
      this.#serving.delete(worker);
      this.#keepMetrics(index);
      if (signal.aborted) return;
      if (!this.#urls.has(index)) {
        this.#listening.reject(
          new StartupError(`worker ${index} ended before it listened (${why}); it said why above`),
        );
        return;
      }
      if (monotonic() - start > SETTLED_MILLIS) pauseMillis = PAUSE_MILLIS_MIN;
      onEnded({ index, why, pauseMillis });
      await sleep(pauseMillis, signal).catch(() => undefined);
      pauseMillis = Math.min(PAUSE_MILLIS_MAX, 2 * pauseMillis);
    }
  }

  #receive(index: number, worker: WorkerProcess, message: FromWorker): void {
    switch (message.kind) {
      case 'ask':
        void this.#answer(index, worker, message).then((reply) =>
          worker.send({ kind: 'reply', id: message.id, reply }),
        );
        break;
      case 'listening':
        this.#urls.set(index, message.url);
        if (this.#workers.get(index) === worker) this.#serving.add(worker);
        if (this.#urls.size === this.#options.count) this.#listening.resolve(message.url);
        break;
      case 'unused_tokens':
        this.#options.tokens?.giveBack(message.keyId, message.tokens);
        break;
      case 'collected':
        // Undefined where they cannot be told. What an ended worker told last may be read after its end, and is kept already.
        if (message.metrics !== undefined && this.#workers.get(index) === worker)
          this.#metrics.set(index, message.metrics);
        this.#collected.get(message.id)?.();
        break;
      default:
        message satisfies never;
    }
  }

  async #answer(
    index: number,
    worker: WorkerProcess,
    { question, about }: Asked,
  ): Promise<Questions[Question]['reply']> {
    switch (question) {
      case 'role':
        return this.#roleOf(index);
      case 'tokens':
        return this.#grant((about as Questions['tokens']['ask']).keyId);
      case 'metrics':
        return await this.#collect();
      case 'leave':
        return this.#letLeave(worker);
      default:
        return question satisfies never;
    }
  }

  /** The last one stays where it is, so that what comes is told that the service is stopping. */
  #letLeave(worker: WorkerProcess): boolean {
    const others = this.#serving.size - (this.#serving.has(worker) ? 1 : 0);
    if (this.#stopping.signal.aborted || others === 0) return false;
    this.#serving.delete(worker);
    return true;
  }

  #roleOf(index: number): WorkerRole {
    const { count, replica, configuration } = this.#options;
    return { index, count, replica, configuration };
  }

  #grant(keyId: string): TokenGrant {
    const { tokens: buckets, count } = this.#options;
    // Then no worker has a limit either. One that asks is not limited.
    if (buckets === undefined) return { tokens: 1, allowance: UNLIMITED };
    const tokens = buckets.takeShare(keyId, SHARES_PER_WORKER * count);
    return { tokens, allowance: buckets.look(keyId) };
  }

  async #collect(): Promise<readonly unknown[]> {
    await Promise.all([...this.#workers.values()].map((worker) => this.#collectFrom(worker)));
    const told = [...this.#metrics.values()];
    return this.#endedMetrics === undefined ? told : [...told, this.#endedMetrics];
  }

  #keepMetrics(index: number): void {
    const last = this.#metrics.get(index);
    this.#metrics.delete(index);
    if (last !== undefined) this.#endedMetrics = this.#options.addEnded(this.#endedMetrics, last);
  }

  async #collectFrom(worker: WorkerProcess): Promise<void> {
    this.#questions += 1;
    const id = this.#questions;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#collected.set(id, resolve);
    const over = new AbortController();
    try {
      worker.send({ kind: 'collect', id });
      const late = this.#options.sleep(COLLECT_MILLIS_MAX, over.signal).catch(() => undefined);
      await Promise.race([promise, late, worker.ended]);
    } finally {
      over.abort();
      this.#collected.delete(id);
    }
  }
}
