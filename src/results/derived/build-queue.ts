/**
 * Builds derived files in the background, one at a time; a bounded number wait. No request waits for a file: until it exists,
 * rows are read without it. A build that failed is tried again when the file is wanted later. A build that can never succeed is
 * remembered and not tried again.
 */
import { type Clock, isRecent } from '../../domain/instant.ts';
import type { Sleep } from '../../domain/time.ts';

/** Why a derived file can never be built. Nothing that this depends on ever changes. */
export class NotBuildable extends Error {}

/** The build of one file. */
export interface BuildStep {
  /** The file's id. A file of this id is always made from the same data. */
  readonly id: string;
  /** @returns the file's bytes, 0 where nothing had to be done @throws NotBuildable; whatever else building throws */
  build(signal: AbortSignal): Promise<number>;
}

/** Files that are wanted together: those of one result, or one of them. */
export interface Wanted {
  readonly id: string;
  readonly executionId: string;
  /** Called when the build begins. */
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
  readonly sleep: Sleep;
  /** Whether long reads are under way. They go first. */
  readonly isBusy: () => boolean;
  /** Called when nothing is left to build for now. */
  readonly rest: () => void;
  readonly onBuilt: (built: Built, wanted: W) => void;
  readonly onFailed: (executionId: string, error: unknown) => void;
  /** Told once of each file that will never be built. */
  readonly onRefused: (executionId: string, refusal: NotBuildable) => void;
}

/** Beyond this number nothing waits: it is wanted again at its next read. */
const WAITING_MAX = 100;
/** A file that was built, or failed, is not looked at again for this long. */
const AGAIN_MILLIS = 600_000;
const REMEMBERED_MAX = 10_000;
/** A build beside an export makes it take a fourth longer, even at lowest priority. So exports go first, but none waits longer for its file. */
const PATIENCE_MILLIS = 30_000;
/** How often it looks whether they have ended. What is wanted by an export is wanted at its beginning, and another may follow at once. */
const LOOK_MILLIS = 100;
const QUIET_LOOKS = 2;

export class BuildQueue<W extends Wanted> implements AsyncDisposable {
  readonly #options: BuildQueueOptions<W>;
  /** By id, like the maps below. */
  readonly #waiting = new Map<string, W>();
  /** When each was last built or has failed. */
  readonly #tried = new Map<string, number>();
  /** Files that will never be built, and results of which none will be. */
  readonly #refused = new Map<string, true>();
  readonly #over = new AbortController();
  #running: Promise<void> | undefined;
  #current: string | undefined;
  /** The current one is to be built again. */
  #isForgotten = false;

  constructor(options: BuildQueueOptions<W>) {
    this.#options = options;
  }

  /** Queues it, unless it waits already, was tried a short while ago, or can never be built. */
  want(wanted: W): void {
    const { id } = wanted;
    if (this.#refused.has(id) || this.#over.signal.aborted) return;
    const triedAt = this.#tried.get(id) ?? Number.NEGATIVE_INFINITY;
    if (isRecent(triedAt, this.#options.clock(), AGAIN_MILLIS)) return;
    if (this.#waiting.has(id) || this.#current === id || this.#waiting.size >= WAITING_MAX) return;
    this.#waiting.set(id, wanted);
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      this.#options.rest();
    });
  }

  /** The file was damaged: it may be built again as soon as it is wanted. */
  forget(id: string): void {
    this.#tried.delete(id);
    // What is built at this moment may have been looked at before.
    if (this.#current === id) this.#isForgotten = true;
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
      if (!this.#isForgotten) remember(this.#tried, id, this.#options.clock());
      this.#isForgotten = false;
      if (this.#over.signal.aborted) return;
    }
  }

  async #buildAll(wanted: W): Promise<void> {
    const { monotonic, isBusy, onBuilt, onRefused } = this.#options;
    const { id, executionId } = wanted;
    const wantedAt = monotonic();
    await this.#letPass(wantedAt);
    const steps = wanted.steps();
    const refusals: NotBuildable[] = [];
    let [files, bytes, millis] = [0, 0, 0];
    for (const step of steps.filter((each) => !this.#refused.has(each.id))) {
      if (isBusy()) await this.#letPass(wantedAt);
      const start = monotonic();
      try {
        const built = await step.build(this.#over.signal);
        files += built > 0 ? 1 : 0;
        bytes += built;
      } catch (error) {
        if (!(error instanceof NotBuildable)) throw error;
        remember(this.#refused, step.id, true);
        refusals.push(error);
      }
      millis += monotonic() - start;
    }
    if (steps.every((step) => this.#refused.has(step.id))) remember(this.#refused, id, true);
    const [refusal] = refusals;
    if (refusal !== undefined) onRefused(executionId, refusal);
    if (files > 0) onBuilt({ executionId, files, bytes, millis }, wanted);
  }

  /** Waits for long reads to end, for as long as that is allowed since the files were wanted. */
  async #letPass(wantedAt: number): Promise<void> {
    const { monotonic, sleep, isBusy } = this.#options;
    for (let quiet = 0; quiet < QUIET_LOOKS && monotonic() - wantedAt < PATIENCE_MILLIS; ) {
      await sleep(LOOK_MILLIS, this.#over.signal);
      quiet = isBusy() ? 0 : quiet + 1;
    }
  }
}

function remember<T>(memory: Map<string, T>, id: string, what: T): void {
  if (memory.size >= REMEMBERED_MAX) {
    const [oldest] = memory.keys();
    if (oldest !== undefined) memory.delete(oldest);
  }
  memory.set(id, what);
}
