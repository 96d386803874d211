/**
 * Builds derived files in the background, one at a time, none beyond a number that wait. Nobody waits for a file: what cannot be built now
 * is read without it, and tried again when it is wanted later; what never can be is remembered, and not tried again.
 */
import type { Clock } from '../../domain/instant.ts';

/** Why something has no derived file, for good: nothing that it depends on changes. */
export class NotBuildable extends Error {}

/** One file. */
export interface BuildStep {
  /** Of the file: what the file is made from is always the same. */
  readonly id: string;
  /** @returns bytes of the file, 0 where nothing had to be done @throws NotBuildable; whatever else building throws */
  build(signal: AbortSignal): Promise<number>;
}

/** What is wanted together: the files of one result, or one of them. */
export interface Wanted {
  readonly id: string;
  readonly executionId: string;
  /** Is asked when it is built. */
  steps(): readonly BuildStep[];
}

export interface Built {
  readonly executionId: string;
  readonly files: number;
  readonly bytes: number;
  readonly millis: number;
}

export interface BuildQueueOptions<W extends Wanted> {
  readonly clock: Clock;
  readonly monotonic: () => number;
  /** Nothing is to be built for now. */
  readonly rest: () => void;
  readonly onBuilt: (built: Built, wanted: W) => void;
  readonly onFailed: (executionId: string, error: unknown) => void;
  /** Told once of what will never be built. */
  readonly onRefused: (executionId: string, refusal: NotBuildable) => void;
}

/** More do not wait: they are wanted again when they are read again. */
const WAITING_MAX = 100;
/** What was built, or could not be, is not looked at again for so long. */
const AGAIN_MILLIS = 600_000;
const REMEMBERED_MAX = 10_000;

export class BuildQueue<W extends Wanted> implements AsyncDisposable {
  readonly #options: BuildQueueOptions<W>;
  /** By id, as all of the following. */
  readonly #waiting = new Map<string, W>();
  /** When each was built last, or could not be. */
  readonly #tried = new Map<string, number>();
  /** What will never be built: files, and those of whom none will be. */
  readonly #refused = new Map<string, true>();
  readonly #over = new AbortController();
  #running: Promise<void> | undefined;
  #current: string | undefined;

  constructor(options: BuildQueueOptions<W>) {
    this.#options = options;
  }

  /** Builds it, unless that is being done, has just been tried, or can never be done. */
  want(wanted: W): void {
    const { id } = wanted;
    if (this.#refused.has(id) || this.#over.signal.aborted) return;
    const triedAt = this.#tried.get(id) ?? Number.NEGATIVE_INFINITY;
    if (this.#options.clock() - triedAt < AGAIN_MILLIS) return;
    if (this.#waiting.has(id) || this.#current === id || this.#waiting.size >= WAITING_MAX) return;
    this.#waiting.set(id, wanted);
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      this.#options.rest();
    });
  }

  /** It was damaged: it may be built again as soon as it is wanted. */
  forget(id: string): void {
    this.#tried.delete(id);
  }

  /** Resolves when nothing waits to be built. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort(new Error('the service stops'));
    await this.#running;
  }

  async #run(): Promise<void> {
    for (let [next] = this.#waiting; next !== undefined; [next] = this.#waiting) {
      const [id, wanted] = next;
      this.#waiting.delete(id);
      this.#current = id;
      await this.#buildAll(wanted).catch((error: unknown) => {
        if (!this.#over.signal.aborted) this.#options.onFailed(wanted.executionId, error);
      });
      this.#current = undefined;
      remember(this.#tried, id, this.#options.clock());
      if (this.#over.signal.aborted) return;
    }
  }

  async #buildAll(wanted: W): Promise<void> {
    const { monotonic, onBuilt, onRefused } = this.#options;
    const { id, executionId } = wanted;
    const start = monotonic();
    const steps = wanted.steps();
    const refusals: NotBuildable[] = [];
    let [files, bytes] = [0, 0];
    for (const step of steps.filter((each) => !this.#refused.has(each.id))) {
      try {
        const built = await step.build(this.#over.signal);
        files += built > 0 ? 1 : 0;
        bytes += built;
      } catch (error) {
        if (!(error instanceof NotBuildable)) throw error;
        remember(this.#refused, step.id, true);
        refusals.push(error);
      }
    }
    if (steps.every((step) => this.#refused.has(step.id))) remember(this.#refused, id, true);
    const [refusal] = refusals;
    if (refusal !== undefined) onRefused(executionId, refusal);
    if (files > 0) onBuilt({ executionId, files, bytes, millis: monotonic() - start }, wanted);
  }
}

function remember<T>(memory: Map<string, T>, id: string, what: T): void {
  if (memory.size >= REMEMBERED_MAX) {
    const [oldest] = memory.keys();
    if (oldest !== undefined) memory.delete(oldest);
  }
  memory.set(id, what);
}
