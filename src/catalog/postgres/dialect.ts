/**
 * Kysely's PostgreSQL dialect over a pool of `pg`. Transactions run one after another, across all processes, as in SQLite: each holds the
 * same advisory lock from its first statement to its end. So no transaction sees another half done, and none can deadlock (decision 23).
 * Single statements take no lock; each is atomic by itself.
 */
import {
  type CompiledQuery,
  type DatabaseConnection,
  type DatabaseIntrospector,
  type Dialect,
  type DialectAdapter,
  type Driver,
  type Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryCompiler,
  type QueryResult,
} from 'kysely';
import type { PoolClient } from 'pg';
import type { Connections } from './connections.ts';
import { LOCKS } from './migrate.ts';
import { asUnavailable, isUnavailable } from './unavailable.ts';

export interface PostgresDialectOptions {
  readonly connections: Pick<Connections, 'take' | 'close'>;
  /** Something may have been committed. */
  readonly onWrite: () => void;
}

export class PostgresPoolDialect implements Dialect {
  readonly #options: PostgresDialectOptions;

  constructor(options: PostgresDialectOptions) {
    this.#options = options;
  }

  createDriver(): Driver {
    return new PostgresPoolDriver(this.#options);
  }

  createQueryCompiler(): QueryCompiler {
    return new PostgresQueryCompiler();
  }

  createAdapter(): DialectAdapter {
    return new PostgresAdapter();
  }

  createIntrospector(db: Kysely<unknown>): DatabaseIntrospector {
    return new PostgresIntrospector(db);
  }
}

class PostgresPoolDriver implements Driver {
  readonly #options: PostgresDialectOptions;

  constructor(options: PostgresDialectOptions) {
    this.#options = options;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<PooledConnection> {
    return new PooledConnection(this.#options);
  }

  async beginTransaction(connection: PooledConnection): Promise<void> {
    await connection.begin();
  }

  async commitTransaction(connection: PooledConnection): Promise<void> {
    await connection.end('commit');
  }

  async rollbackTransaction(connection: PooledConnection): Promise<void> {
    await connection.end('rollback');
  }

  async releaseConnection(connection: PooledConnection): Promise<void> {
    connection.release();
  }

  async destroy(): Promise<void> {
    await this.#options.connections.close();
  }
}

/** The connection of one statement or one transaction, taken from the pool when the first statement comes. */
class PooledConnection implements DatabaseConnection {
  readonly #connections: PostgresDialectOptions['connections'];
  readonly #onWrite: () => void;
  #client: PoolClient | undefined;
  #isInTransaction = false;
  /** The connection cannot be used again. */
  #isBroken = false;

  constructor({ connections, onWrite }: PostgresDialectOptions) {
    this.#connections = connections;
    this.#onWrite = onWrite;
  }

  async begin(): Promise<void> {
    await this.#again(async () => await this.#run('begin'));
    this.#isInTransaction = true;
    try {
      await this.#run('select pg_advisory_xact_lock($1, hashtext(current_schema()))', [LOCKS]);
    } catch (error) {
      // Nobody rolls back what has not begun: the connection goes, and the transaction with it.
      this.#isBroken = true;
      throw error;
    }
  }

  async end(how: 'commit' | 'rollback'): Promise<void> {
    // A connection that broke took its transaction with it.
    if (how === 'rollback' && this.#isBroken) return;
    try {
      await this.#run(how);
    } finally {
      this.#isInTransaction = false;
      if (how === 'commit') this.#onWrite();
    }
  }

  release(): void {
    this.#client?.release(this.#isBroken);
    this.#client = undefined;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const isRead = query.query.kind === 'SelectQueryNode';
    const run = async () => await this.#run<R>(query.sql, query.parameters);
    if (this.#isInTransaction) return await run();
    if (isRead) return await this.#again(run);
    try {
      return await run();
    } finally {
      this.#onWrite();
    }
  }

  // biome-ignore lint/correctness/useYield: the interface asks for a generator; no query of ours streams.
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('the catalog answers whole: nothing in it is large enough to stream');
  }

  /** Tries a second time, on another connection, if the first was dead. After a restart of the database all in the pool are. */
  async #again<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!this.#isBroken) throw error;
      this.release();
      this.#isBroken = false;
      return await work();
    }
  }

  async #run<R>(text: string, parameters: readonly unknown[] = []): Promise<QueryResult<R>> {
    try {
      this.#client ??= await this.#connections.take();
      const { rows, rowCount } = await this.#client.query(text, [...parameters]);
      return { rows: rows as R[], ...(rowCount !== null && { numAffectedRows: BigInt(rowCount) }) };
    } catch (error) {
      this.#isBroken = this.#client !== undefined && isUnavailable(error);
      throw asUnavailable(error);
    }
  }
}
