/**
 * Results with objects missing from the store, as far as this process knows: a disk was restored in part, or a commit came back after its
 * objects were deleted. A result is checked when it is first the latest run of a query, and again when a read finds an object missing.
 * Only the names of its parts are checked; whether their bytes are right is seen when they are read.
 */
import type { Executions } from '../../catalog/catalog.ts';
import type { ResultSet } from '../../domain/result-set.ts';
import { ObjectDamaged, type ResultStore } from '../../store/result-store.ts';

export interface MissingResultsOptions {
  readonly executions: Pick<Executions, 'findResultSet'>;
  readonly store: Pick<ResultStore, 'findMissing'>;
  /** Told once of each result that has gone missing, or is there again. */
  readonly onChange: (executionId: string, isMissing: boolean) => void;
}

/** At this number, those that were whole are forgotten, and checked again. */
const WHOLE_MAX = 20_000;
/** At most so many are remembered as missing. */
const MISSING_MAX = 1000;
/** How many of the missing are checked again at a time. */
const AGAIN_MAX = 20;

export class MissingResults {
  readonly #options: MissingResultsOptions;
  readonly #whole = new Set<string>();
  /** The one looked at longest ago comes first. */
  readonly #missing = new Set<string>();

  constructor(options: MissingResultsOptions) {
    this.#options = options;
  }

  /** How many results are known to be missing. */
  get count(): number {
    return this.#missing.size;
  }

  /** Whether parts of the result are missing. Costs nothing once it was seen to be whole. */
  async isMissing(executionId: string, resultSet: ResultSet): Promise<boolean> {
    return this.#whole.has(executionId) ? false : await this.#check(executionId, resultSet, false);
  }

  /** @param isKnown it may have been taken for whole before: if it is not, that is reported even if it cannot be remembered */
  async #check(executionId: string, resultSet: ResultSet, isKnown: boolean): Promise<boolean> {
    const isMissing = (await this.#options.store.findMissing(resultSet.parts.map(({ key }) => key))).length > 0;
    const wasMissing = this.#missing.delete(executionId);
    const isNoted = isMissing && this.#missing.size < MISSING_MAX;
    if (isNoted) this.#missing.add(executionId);
    if (!isMissing) {
      if (this.#whole.size >= WHOLE_MAX) this.#whole.clear();
      this.#whole.add(executionId);
    }
    // A result that is not remembered, because too many are, would be reported anew at each look, and each report empties the catalog cache.
    const isNews = isNoted || isKnown || wasMissing;
    if (isMissing !== wasMissing && isNews) this.#options.onChange(executionId, isMissing);
    return isMissing;
  }

  /** Looks at some of those that are missing again: they may have been restored, or swept. */
  async lookAgain(): Promise<void> {
    for (const executionId of [...this.#missing].slice(0, AGAIN_MAX)) await this.#look(executionId);
  }

  /** The same store, of which every read that finds an object missing is noticed here before it fails. */
  noticing(store: Pick<ResultStore, 'open' | 'prefetch'>): Pick<ResultStore, 'open' | 'prefetch'> {
    return {
      prefetch: (object, rows, signal) => store.prefetch(object, rows, signal),
      open: async (object, rows, signal) => {
        try {
          return await store.open(object, rows, signal);
        } catch (error) {
          if (error instanceof ObjectDamaged && error.isMissing) {
            // Whatever becomes of that, this read has failed.
            await this.#look(object.key.split('/', 1)[0] ?? '').catch(() => undefined);
          }
          throw error;
        }
      },
    };
  }

  async #look(executionId: string): Promise<void> {
    const resultSet = await this.#options.executions.findResultSet(executionId);
    this.#whole.delete(executionId);
    // Expired and swept since: not missing, just gone.
    if (resultSet === undefined) this.#missing.delete(executionId);
    else await this.#check(executionId, resultSet, true);
  }
}
