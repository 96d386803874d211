/**
 * The catalog in a PostgreSQL database, which any number of processes on any number of machines may share. Its queries are those of every
 * catalog (kysely/). What differs: how transactions exclude each other (dialect.ts), and how it learns of changes (change-feed.ts).
 */
import { Kysely, sql } from 'kysely';
import { Client, type ClientBase, type ClientConfig, Pool, types } from 'pg';
import type { Sleep } from '../../domain/time.ts';
import { CatalogUnavailable } from '../../errors/catalog-unavailable.ts';
import { NotReady } from '../../errors/not-ready.ts';
import type { Catalog } from '../catalog.ts';
import { KyselyCatalog } from '../kysely/kysely-catalog.ts';
import type { CatalogTables } from '../kysely/tables.ts';
import { ChangeFeed } from './change-feed.ts';
import { Connections } from './connections.ts';
import { PostgresPoolDialect } from './dialect.ts';
import { migrate, requireOurs } from './migrate.ts';
import { LATEST } from './migrations.ts';
import { asUnavailable, isReadOnly, isUnavailable } from './unavailable.ts';

const CONNECT_MILLIS_MAX = 5000;
/** Reads and writes take milliseconds. Whatever waits longer waits for a process that is stuck. */
const LOCK_MILLIS_MAX = 10_000;
const STATEMENT_MILLIS_MAX = 30_000;
/** A process that stops in the middle of a transaction would hold up all others. */
const IDLE_IN_TRANSACTION_MILLIS_MAX = 10_000;
/** What may take longer: a migration, which rewrites tables and which other processes wait for, and reading all there is. */
const UPKEEP_MILLIS_MAX = 3_600_000;
/** Longer than the server takes to give up itself: a connection of which nothing is heard any more. */
const SILENCE_MILLIS_MAX = STATEMENT_MILLIS_MAX + 5000;
/** The queries of the connection that listens are trivial. */
const HEARTBEAT_MILLIS_MAX = 5000;

/**
 * However the server, the database or the user is set: whoever has waited for the lock of a transaction has to see what its holder did
 * (dialect.ts). In the levels above, each statement of a transaction sees what was there before it waited.
 */
const EACH_STATEMENT_SEES_ALL = `set default_transaction_isolation = 'read committed'`;

/** 64-bit integers (instants, sizes, sums): the driver gives them as text, since they may not fit in a number. Ours fit. */
const NUMBERS: ReadonlySet<number> = new Set([types.builtins.INT8, types.builtins.NUMERIC]);

export interface PostgresCatalogOptions {
  /** Milliseconds that only ever grow. */
  readonly monotonic: () => number;
  readonly sleep: Sleep;
  /** How late a commit of another process may be noticed, in milliseconds. 0: each answer asks. */
  readonly stalenessMaxMillis: number;
  readonly connectionsMax: number;
}

/**
 * Opens the catalog, makes its tables when there are none, and brings it to this version.
 * @param url `postgres://user:password@host:port/database?sslmode=verify-full`, and whatever else the driver takes
 * @throws Error in one line: not reachable, made by a newer release, not permitted
 */
export async function openPostgresCatalog(url: string, options: PostgresCatalogOptions): Promise<Catalog> {
  const config: ClientConfig = {
    connectionString: url,
    application_name: 'query-results-service',
    connectionTimeoutMillis: CONNECT_MILLIS_MAX,
    lock_timeout: LOCK_MILLIS_MAX,
    statement_timeout: STATEMENT_MILLIS_MAX,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MILLIS_MAX,
    keepAlive: true,
    types: { getTypeParser: (oid, format) => (NUMBERS.has(oid) ? Number : types.getTypeParser(oid, format)) },
  };
  const unlimited = { ...config, lock_timeout: UPKEEP_MILLIS_MAX, statement_timeout: UPKEEP_MILLIS_MAX };
  try {
    await withClient(unlimited, migrate);
  } catch (error) {
    throw new Error(`cannot open the catalog at ${placeOf(config)}: ${reasonOf(error)}`, { cause: error });
  }
  const onConnect = async (client: ClientBase): Promise<void> => void (await client.query(EACH_STATEMENT_SEES_ALL));
  const pool = new Pool({ ...config, query_timeout: SILENCE_MILLIS_MAX, max: options.connectionsMax, onConnect });
  // A connection that breaks fails the query that uses it and leaves the pool. Nothing else has to happen, but an `error` event without
  // a listener would end the process.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  const connect = async () => {
    const client = new Client({ ...config, query_timeout: HEARTBEAT_MILLIS_MAX });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  };
  const { monotonic, sleep, stalenessMaxMillis } = options;
  const changes = new ChangeFeed({ connect, monotonic, sleep, stalenessMaxMillis });
  return new PostgresCatalog({ connections: new Connections(pool, monotonic), changes, unlimited });
}

interface PostgresParts {
  readonly connections: Connections;
  readonly changes: ChangeFeed;
  /** For what may take long. */
  readonly unlimited: ClientConfig;
}

class PostgresCatalog extends KyselyCatalog implements Catalog {
  readonly #connections: Connections;
  readonly #changes: ChangeFeed;
  readonly #unlimited: ClientConfig;

  constructor({ connections, changes, unlimited }: PostgresParts) {
    const dialect = new PostgresPoolDialect({ connections, onWrite: () => changes.onWrite() });
    super(new Kysely<CatalogTables>({ dialect }), () => sql<number>`qrs_now()`, LATEST);
    this.#connections = connections;
    this.#changes = changes;
    this.#unlimited = unlimited;
  }

  async check(): Promise<void> {
    try {
      const client = await this.#connections.take();
      try {
        await requireOurs(client);
      } finally {
        client.release();
      }
      await this.probe();
    } catch (error) {
      throw new NotReady(notReadyReason(error), { cause: error });
    }
  }

  /** Reads every row of every table: PostgreSQL checks what it reads. A large one takes longer than a statement may otherwise. */
  async verify(): Promise<void> {
    const tables = `select format('%I', tablename) as name from pg_tables where schemaname = current_schema() order by tablename`;
    try {
      await withClient(this.#unlimited, async (client) => {
        const { rows } = await client.query<{ name: string }>(tables);
        for (const { name } of rows) await client.query(`select count(t::text) from ${name} as t`);
      });
    } catch (error) {
      if (isUnavailable(error)) throw asUnavailable(error);
      throw new Error(`the catalog is damaged, or cannot be read: ${reasonOf(error)}`, { cause: error });
    }
  }

  version(): number | Promise<number> {
    return this.#changes.version();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#changes[Symbol.asyncDispose]();
    await this.db.destroy();
    // Kysely closes only what it has used.
    await this.#connections.close();
  }
}

function notReadyReason(error: unknown): string {
  if (isReadOnly(error)) return 'it takes no changes: its database is read-only';
  return error instanceof CatalogUnavailable || isUnavailable(error) ? 'it cannot be reached' : reasonOf(error);
}

/** On a connection of its own. */
async function withClient(config: ClientConfig, work: (client: Client) => Promise<void>): Promise<void> {
  const client = new Client(config);
  // A connection that breaks is told to whoever uses it; the event alone would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query(EACH_STATEMENT_SEES_ALL);
    await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Where it is, without the password. */
function placeOf(config: ClientConfig): string {
  const { host, port, database, user } = new Client(config);
  return `${host}:${port}/${database ?? ''} as ${user ?? ''}`;
}

function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ');
  return error instanceof Error ? error.message.split('\n').join(' ') : String(error);
}
