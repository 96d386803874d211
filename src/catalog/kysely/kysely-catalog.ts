/** What catalogs have in common: their sections over one SQL database, whichever it is, and steps of them as one transaction. */
import type { Kysely } from 'kysely';
import type { Instant } from '../../domain/instant.ts';
import type { Catalog, CatalogTransaction } from '../catalog.ts';
import { KyselyBrowsing } from './browsing.ts';
import { KyselyExecutions } from './executions.ts';
import { KyselyIdempotencyKeys } from './idempotency-keys.ts';
import { KyselyInstallation } from './installation.ts';
import { KyselyLeases } from './leases.ts';
import { type Now, readNow } from './now.ts';
import { KyselyPrincipals } from './principals.ts';
import { KyselyQueries } from './queries.ts';
import { KyselyReplicas } from './replicas.ts';
import { KyselyRuns } from './runs.ts';
import type { CatalogTables } from './tables.ts';
import { KyselyTicks } from './ticks.ts';
import { KyselyUsage } from './usage.ts';
import { KyselyWebhooks } from './webhooks.ts';

/** What differs from database to database. */
type OfTheDatabase = 'check' | 'verify' | 'version' | typeof Symbol.asyncDispose;

export class KyselyCatalog implements Omit<Catalog, OfTheDatabase> {
  readonly principals: KyselyPrincipals;
  readonly queries: KyselyQueries;
  readonly browsing: KyselyBrowsing;
  readonly executions: KyselyExecutions;
  readonly runs: KyselyRuns;
  readonly leases: KyselyLeases;
  readonly ticks: KyselyTicks;
  readonly replicas: KyselyReplicas;
  readonly usage: KyselyUsage;
  readonly installation: KyselyInstallation;
  readonly idempotencyKeys: KyselyIdempotencyKeys;
  readonly webhooks: KyselyWebhooks;
  protected readonly db: Kysely<CatalogTables>;
  readonly #now: Now;

  /**
   * @param now the clock that leases, claims, ticks, kept answers and batches of usage go by
   * @param knows the latest version of a catalog that this program knows
   * @param lists where many rows are looked at; it only reads
   */
  constructor(db: Kysely<CatalogTables>, now: Now, knows: number, lists: Kysely<CatalogTables> = db) {
    this.db = db;
    this.#now = now;
    this.principals = new KyselyPrincipals(db);
    this.queries = new KyselyQueries(db);
    this.browsing = new KyselyBrowsing(db, lists);
    this.executions = new KyselyExecutions(db, now);
    this.runs = new KyselyRuns(db, now);
    this.leases = new KyselyLeases(db, now);
    this.ticks = new KyselyTicks(db, now);
    this.replicas = new KyselyReplicas(db, now, knows);
    this.usage = new KyselyUsage(db, now, lists);
    this.installation = new KyselyInstallation(db);
    this.idempotencyKeys = new KyselyIdempotencyKeys(db, now);
    this.webhooks = new KyselyWebhooks(db, now);
  }

  async now(): Promise<Instant> {
    return await readNow(this.db, this.#now);
  }

  async atomically<T>(work: (transaction: CatalogTransaction) => Promise<T>): Promise<T> {
    return await this.db.transaction().execute(
      async (trx) =>
        await work({
          principals: new KyselyPrincipals(trx),
          queries: new KyselyQueries(trx),
          executions: new KyselyExecutions(trx, this.#now),
          runs: new KyselyRuns(trx, this.#now),
          idempotencyKeys: new KyselyIdempotencyKeys(trx, this.#now),
          webhooks: new KyselyWebhooks(trx, this.#now),
        }),
    );
  }

  /** Whether a commit succeeds. Only a commit can show it. */
  protected async probe(): Promise<void> {
    await this.db
      .updateTable('probes')
      .set((eb) => ({ count: eb('count', '+', 1) }))
      .execute();
  }
}
