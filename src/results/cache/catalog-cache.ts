/**
 * Remembers what the read path has looked up in the catalog. For each request the catalog is asked only for its version, which takes
 * about a microsecond. While the version stays the same, nothing that an answer may depend on has been committed, so what was looked up
 * before still holds. A revoked key or a new run is therefore seen by the next request.
 */
import type { Catalog } from '../../catalog/catalog.ts';
import type { AsOfSearch, ListPage } from '../../domain/browsing.ts';
import type { QueryWords } from '../../domain/column-descriptions.ts';
import { type Execution, STATES, stateAt } from '../../domain/execution.ts';
import { type Instant, isExpired } from '../../domain/instant.ts';
import type { Principal } from '../../domain/principal.ts';
import type { Query } from '../../domain/query.ts';
import type { ResultSet } from '../../domain/result-set.ts';
import { afterThisTurn } from '../../domain/time.ts';
import { LruBytes } from './lru-bytes.ts';

export type QueryAccess = Pick<Query, 'id' | 'owner' | 'visibility'> & {
  /** The beginning of it. */
  readonly name?: string;
};

/** Of a name, enough to call a file by. */
const NAME_LENGTH_MAX = 100;

/** The run that an address means: one that it names, or the latest of a query. */
export interface Latest {
  readonly execution: Execution;
  /** Of its query. */
  readonly queryName?: string;
  /** The newest run that has a result, where that is not this one: parts of it are missing from the store. */
  readonly skipped?: string;
}

export type FindPrincipal = (key: string) => Promise<Principal | undefined>;

/** An object in memory takes about so many times the bytes of its JSON. */
const BYTES_OF_JSON = 3;
/** At most so many results with missing parts are passed over. Beyond that, the newest is answered, and found damaged. */
const SKIPPED_MAX = 100;
/** Wrong keys are remembered apart, so that a client that sends many of them does not push out what others look up. */
const WRONG_KEYS_MAX = 1000;

interface Known {
  /** Undefined: there is no such thing. */
  readonly value: unknown;
  readonly bytes: number;
}

/** A request reads the clock some time before it looks for a run. Only a find that is further ahead shows that a clock was set back. */
const BACK_MILLIS = 60_000;

const makeKnown = (bytesMax: number) => new LruBytes<Known>(bytesMax, ({ bytes }) => bytes);

/** The newest run but for those with these ids. */
type FindNewest = (except: readonly string[]) => Promise<Execution | undefined>;

function named(parameters: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(parameters).sort());
}

export class CatalogCache {
  readonly #catalog: Catalog;
  readonly #findPrincipal: FindPrincipal;
  readonly #isMissing: (executionId: string, resultSet: ResultSet) => Promise<boolean>;
  readonly #bytesMax: number;
  readonly #turnNumber: () => number;
  #known: LruBytes<Known>;
  /** Hashes. */
  readonly #wrongKeys = new Set<string>();
  /** Of the catalog, when it was last asked. */
  #catalogVersion: number | undefined;
  #version = 0;
  #asking: Promise<void> | undefined;
  /** The turn of the event loop in which the catalog has been asked; undefined when that is over. */
  #askedIn: number | undefined;

  /**
   * @param bytesMax the most memory that it takes, wrong keys apart
   * @param isMissing whether parts of a result are missing from the store
   * @param turnNumber another number in each turn of the event loop
   */
  constructor(
    bytesMax: number,
    catalog: Catalog,
    findPrincipal: FindPrincipal,
    isMissing: (executionId: string, resultSet: ResultSet) => Promise<boolean>,
    turnNumber: () => number,
  ) {
    this.#bytesMax = bytesMax;
    this.#turnNumber = turnNumber;
    this.#known = makeKnown(bytesMax);
    this.#catalog = catalog;
    this.#findPrincipal = findPrincipal;
    this.#isMissing = isMissing;
  }

  get bytes(): number {
    return this.#known.bytes;
  }

  /** What was found under a version holds as long as this is the version. */
  get version(): number {
    return this.#version;
  }

  /**
   * Asks for the version, and forgets everything if it has changed. Asks at most once in a turn of the event loop, for all requests
   * that came in with it: with many connections, asking for each would be a tenth of a page's cost. A request that begins at the end of a turn
   * does not ask for requests of the next turn, since there may be a commit before they come. If the catalog is away, a request waits for that
   * answer once: when response-cache.ts then sends it through the router, it asks again in the same turn, and fails at once.
   * @returns a promise if the catalog cannot answer at once
   */
  refresh(): void | Promise<void> {
    const turn = this.#turnNumber();
    if (this.#askedIn === turn) return this.#asking;
    this.#holdIn(turn, undefined);
    try {
      const version = this.#catalog.version();
      if (typeof version === 'number') this.#take(version);
      else {
        const asking = version.then((answer) => this.#take(answer));
        this.#asking = asking;
        // Registered before those that wait for it, so that it runs first: they find this turn's question failed.
        asking.catch(() => this.#holdIn(this.#turnNumber(), asking));
      }
    } catch (error) {
      this.#askedIn = undefined;
      throw error;
    }
    return this.#asking;
  }

  /** Lets all requests of this turn share one question, and what came of it. */
  #holdIn(turn: number, asking: Promise<void> | undefined): void {
    this.#asking = asking;
    this.#askedIn = turn;
    afterThisTurn(() => {
      if (this.#askedIn === turn) this.#askedIn = undefined;
    });
  }

  #take(version: number): void {
    if (version === this.#catalogVersion) return;
    this.#catalogVersion = version;
    this.forget();
  }

  /** Forgets everything. Also called without a commit, when a result has gone missing from the store, or is there again. */
  forget(): void {
    this.#known = makeKnown(this.#bytesMax);
    this.#wrongKeys.clear();
    this.#version += 1;
  }

  /**
   * Whose key it is: the first look-up of a request, which refreshes for all that follow.
   * @param keyHash what the key is remembered by; the key itself is not kept
   */
  async principal(key: string, keyHash: string): Promise<Principal | undefined> {
    await this.refresh();
    if (this.#wrongKeys.has(keyHash)) return undefined;
    const name = `key ${keyHash}`;
    const known = this.#known.get(name);
    if (known !== undefined) return known.value as Principal;
    const version = this.#version;
    const found = await this.#findPrincipal(key);
    if (version !== this.#version) return found;
    if (found !== undefined) this.#keep(name, found);
    else {
      if (this.#wrongKeys.size >= WRONG_KEYS_MAX) this.#wrongKeys.clear();
      this.#wrongKeys.add(keyHash);
    }
    return found;
  }

  async execution(id: string): Promise<Execution | undefined> {
    return await this.#remember(`execution ${id}`, () => this.#catalog.executions.find(id));
  }

  /** Whose it is and who may read it: texts of queries would take the room of thousands of these. */
  async query(id: number): Promise<QueryAccess | undefined> {
    return await this.#remember(`query ${id}`, async () => {
      const query = await this.#catalog.queries.find(id);
      if (query === undefined) return undefined;
      const { name, owner, visibility } = query;
      return { id, owner, visibility, ...(name !== undefined && { name: name.slice(0, NAME_LENGTH_MAX) }) };
    });
  }

  /** What its owner says of it and of its columns; these can be long, so they are remembered apart. */
  async queryWords(id: number): Promise<QueryWords> {
    const words = await this.#remember(`words ${id}`, async () => {
      const { name, description, columnDescriptions } = (await this.#catalog.queries.find(id)) ?? {};
      return {
        ...(name !== undefined && { name }),
        ...(description !== undefined && { description }),
        ...(columnDescriptions !== undefined && { columnDescriptions }),
      };
    });
    return words;
  }

  /** Remembered apart, as its words are. */
  async queryParameters(id: number): Promise<Query['parameters']> {
    return await this.#remember(
      `parameters ${id}`,
      async () => (await this.#catalog.queries.find(id))?.parameters ?? [],
    );
  }

  async resultSet(executionId: string): Promise<ResultSet | undefined> {
    return await this.#remember(`result ${executionId}`, () => this.#catalog.executions.findResultSet(executionId));
  }

  /**
   * The latest run, as `Executions.findLatest`, but of the results with missing parts, as long as another is whole: time alone can change
   * it, when the result it had expires, or when a clock is set back that was ahead and made others seem expired.
   */
  async latest(
    queryId: number,
    parameters: Readonly<Record<string, string>>,
    now: Instant,
  ): Promise<Latest | undefined> {
    const { executions } = this.#catalog;
    return await this.#latest(`latest ${queryId} ${named(parameters)}`, now, (except) =>
      executions.findLatest(queryId, parameters, now, except),
    );
  }

  /** The same, as `Browsing.findLatestAsOf`. */
  async latestAsOf(search: AsOfSearch): Promise<Latest | undefined> {
    const { queryId, parameters, asOf, now } = search;
    const { browsing } = this.#catalog;
    return await this.#latest(`as of ${asOf} ${queryId} ${named(parameters)}`, now, (except) =>
      browsing.findLatestAsOf(search, except),
    );
  }

  /** As `Browsing.listOldestStored`. It is asked for an error, and not kept. */
  async oldestStored(search: Omit<AsOfSearch, 'asOf'>, limit: number): Promise<ListPage<Execution>> {
    return await this.#catalog.browsing.listOldestStored(search, limit);
  }

  async #latest(name: string, now: Instant, findNewest: FindNewest): Promise<Latest | undefined> {
    const find = async () => ({ latest: await this.#findWhole(now, findNewest), foundAt: now });
    const { latest, foundAt } = await this.#remember(name, find);
    if (now > foundAt - BACK_MILLIS && !isExpired(latest?.execution.expiresAt, now)) return latest;
    this.#known.delete(name);
    return (await this.#remember(name, find)).latest;
  }

  async #findWhole(now: Instant, findNewest: FindNewest): Promise<Latest | undefined> {
    const newest = await findNewest([]);
    const skipped: string[] = [];
    let found = newest;
    while (found !== undefined && STATES[stateAt(found, now)].hasResult && skipped.length < SKIPPED_MAX) {
      const resultSet = await this.resultSet(found.id);
      const isMissing = resultSet !== undefined && (await this.#isMissing(found.id, resultSet));
      if (!isMissing) return { execution: found, ...(skipped[0] !== undefined && { skipped: skipped[0] }) };
      skipped.push(found.id);
      found = await findNewest(skipped);
    }
    // Without any whole result the newest run says what is the matter.
    return newest && { execution: newest };
  }

  async #remember<T>(name: string, find: () => Promise<T>): Promise<T> {
    const known = this.#known.get(name);
    if (known !== undefined) return known.value as T;
    const version = this.#version;
    const found = await find();
    // If the version has changed during the look-up, what was found may be stale and is not kept.
    if (version === this.#version) this.#keep(name, found);
    return found;
  }

  #keep(name: string, value: unknown): void {
    const jsonLength = JSON.stringify(value)?.length ?? 0;
    this.#known.put(name, { value, bytes: jsonLength * BYTES_OF_JSON });
  }
}
