/**
 * The catalog of the simulated world: the service's own statements (src/catalog/kysely/) and its own dialects, over simulated databases. In
 * PostgreSQL's way the change feed is the service's own, too.
 */
import { Kysely, sql } from 'kysely';
import type { Catalog } from '../src/catalog/catalog.ts';
import { KyselyCatalog } from '../src/catalog/kysely/kysely-catalog.ts';
import type { Now } from '../src/catalog/kysely/now.ts';
import type { CatalogTables } from '../src/catalog/kysely/tables.ts';
import { ChangeFeed } from '../src/catalog/postgres/change-feed.ts';
import { PostgresPoolDialect } from '../src/catalog/postgres/dialect.ts';
import { NodeSqliteDialect } from '../src/catalog/sqlite/dialect.ts';
import { LATEST } from '../src/catalog/sqlite/migrations.ts';
import type { Clock } from '../src/domain/instant.ts';
import type { RowChange } from './database/changeset.ts';
import { SimulatedDatabase } from './database/database.ts';
import { SimulatedClient, SimulatedPool } from './database/postgres-client.ts';
import { PostgresServer } from './database/postgres-server.ts';
import { SqliteFile, sqliteConnections } from './database/sqlite-file.ts';
import type { Host } from './host.ts';
import { Mutations } from './mutations.ts';
import type { Network } from './network.ts';

/** Which database is simulated: SQLite's one writer at a time, or PostgreSQL's "read committed". */
export type DatabaseKind = 'sqlite' | 'postgres';

/** What answers depend on: a commit that changes one of these makes caches stale. */
const ANSWERED_FROM = new Set(['users', 'teams', 'team_members', 'api_keys', 'queries', 'executions', 'result_sets']);

export interface CatalogServerOptions {
  readonly kind: DatabaseKind;
  readonly network: Network;
  readonly stalenessMaxMillis: number;
  readonly mutations?: Mutations;
  readonly onDeadlock?: (between: string) => void;
  readonly onCommit?: (changes: readonly RowChange[]) => void;
  /** What the catalog takes for the time, where a test sets it: else the host's clock for SQLite, and true time for PostgreSQL. */
  readonly clock?: Clock;
}

/** The database that all processes share. */
export class CatalogServer {
  readonly database: SimulatedDatabase;
  readonly postgres: PostgresServer;
  readonly #file: SqliteFile;
  readonly #options: CatalogServerOptions;
  #changes = 0;

  constructor(options: CatalogServerOptions) {
    this.#options = options;
    const { network, mutations = new Mutations(), ...others } = options;
    const { scheduler } = network;
    this.database = new SimulatedDatabase(mutations.rewrite);
    const { database } = this;
    this.postgres = new PostgresServer({ scheduler, database, withoutLock: mutations.withoutLock, ...others });
    this.#file = new SqliteFile(scheduler, this.database);
    this.database.setClock(options.clock ?? (() => Math.floor(scheduler.now)));
    this.database.onCommit = (changes) => {
      options.onCommit?.(changes);
      if (!changes.some(({ table }) => ANSWERED_FROM.has(table))) return;
      this.#changes += 1;
      this.postgres.notify();
    };
  }

  /** The catalog as one process has it open. */
  open(host: Host): Catalog {
    return this.#options.kind === 'sqlite' ? this.#openSqlite(host) : this.#openPostgres(host);
  }

  #openSqlite(host: Host): Catalog {
    const connections = sqliteConnections(this.#file, host);
    const db = new Kysely<CatalogTables>({ dialect: new NodeSqliteDialect(connections) });
    const clock = this.#options.clock ?? host.clock;
    return new SimulatedCatalog(db, { now: () => sql<number>`${clock()}`, version: () => this.#changes, parts: [] });
  }

  #openPostgres(host: Host): Catalog {
    const { network, stalenessMaxMillis } = this.#options;
    const place = { host, network, server: this.postgres };
    let connections = 0;
    const connect = async () => {
      connections += 1;
      const client = new SimulatedClient(place, `${host.name}/feed${connections}`);
      await client.connect();
      return client.asClient();
    };
    const { monotonic, sleep } = host;
    const changes = new ChangeFeed({ connect, monotonic, sleep, stalenessMaxMillis });
    const pool = new SimulatedPool(place).asPool();
    const db = new Kysely<CatalogTables>({
      dialect: new PostgresPoolDialect({
        connections: { take: () => pool.connect(), close: () => pool.end() },
        onWrite: () => changes.onWrite(),
      }),
    });
    const now = () => sql<number>`qrs_now()`;
    return new SimulatedCatalog(db, { now, version: () => changes.version(), parts: [changes] });
  }
}

interface SimulatedParts {
  readonly now: Now;
  readonly version: () => number | Promise<number>;
  readonly parts: readonly AsyncDisposable[];
}

class SimulatedCatalog extends KyselyCatalog implements Catalog {
  readonly version: () => number | Promise<number>;
  readonly #parts: readonly AsyncDisposable[];

  constructor(db: Kysely<CatalogTables>, { now, version, parts }: SimulatedParts) {
    super(db, now, LATEST);
    this.version = version;
    this.#parts = parts;
  }

  async check(): Promise<void> {
    await this.probe();
  }

  /** It is never damaged here. */
  async verify(): Promise<void> {}

  async [Symbol.asyncDispose](): Promise<void> {
    for (const part of this.#parts) await part[Symbol.asyncDispose]();
    await this.db.destroy();
  }
}
