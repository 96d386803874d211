/** What all catalogs in SQL databases share: the sections, and `atomically`, which makes several steps one transaction. */
import type { Kysely } from 'kysely';
import type { Catalog, CatalogSteps } from '../catalog.ts';
import { KyselyBrowsing } from './browsing.ts';
import { KyselyExecutions } from './executions.ts';
import { KyselyIdempotencyKeys } from './idempotency-keys.ts';
import { KyselyInstallation } from './installation.ts';
import { KyselyLeases } from './leases.ts';
import { KyselyPrincipals } from './principals.ts';
import { KyselyQueries } from './queries.ts';
import { KyselyRuns } from './runs.ts';
import type { CatalogTables } from './tables.ts';
import { KyselyTicks } from './ticks.ts';
import { KyselyUsage } from './usage.ts';

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
  readonly usage: KyselyUsage;
  readonly installation: KyselyInstallation;
  readonly idempotencyKeys: KyselyIdempotencyKeys;
  protected readonly db: Kysely<CatalogTables>;

  constructor(db: Kysely<CatalogTables>) {
    this.db = db;
    this.principals = new KyselyPrincipals(db);
    this.queries = new KyselyQueries(db);
    this.browsing = new KyselyBrowsing(db);
    this.executions = new KyselyExecutions(db);
    this.runs = new KyselyRuns(db);
    this.leases = new KyselyLeases(db);
    this.ticks = new KyselyTicks(db);
    this.usage = new KyselyUsage(db);
    this.installation = new KyselyInstallation(db);
    this.idempotencyKeys = new KyselyIdempotencyKeys(db);
  }

  async atomically<T>(work: (steps: CatalogSteps) => Promise<T>): Promise<T> {
    return await this.db.transaction().execute(
      async (trx) =>
        await work({
          principals: new KyselyPrincipals(trx),
          queries: new KyselyQueries(trx),
          executions: new KyselyExecutions(trx),
          runs: new KyselyRuns(trx),
          idempotencyKeys: new KyselyIdempotencyKeys(trx),
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
