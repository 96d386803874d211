/**
 * Kysely's SQLite dialect over Node's own `node:sqlite`: one connection, shared by turns (Kysely holds a mutex, since the
 * adapter says that there is only one). Two things differ from the dialect that Kysely brings:
 *
 * - a transaction begins IMMEDIATE, so that what it reads cannot change before it writes;
 * - another process's write lock is waited for outside of SQLite (see busy.ts), so that the event loop goes on meanwhile.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type DatabaseIntrospector,
  type Dialect,
  type DialectAdapter,
  type Driver,
  type Kysely,
  type QueryCompiler,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { whileBusy } from './busy.ts';

/** The texts of our queries are few (their values are parameters); past this many, lists of unusual lengths are about. */
const STATEMENTS_MAX = 200;

export class NodeSqliteDialect implements Dialect {
  readonly #database: DatabaseSync;
  readonly #onWrite: () => void;

  /** `onWrite` is called after every commit of something that may have changed the database. */
  constructor(database: DatabaseSync, onWrite: () => void) {
    this.#database = database;
    this.#onWrite = onWrite;
  }

  createDriver(): Driver {
    return new NodeSqliteDriver(this.#database, this.#onWrite);
  }

  createQueryCompiler(): QueryCompiler {
    return new SqliteQueryCompiler();
  }

  createAdapter(): DialectAdapter {
    return new SqliteAdapter();
  }

  createIntrospector(db: Kysely<unknown>): DatabaseIntrospector {
    return new SqliteIntrospector(db);
  }
}

class NodeSqliteDriver implements Driver {
  readonly #database: DatabaseSync;
  readonly #connection: NodeSqliteConnection;

  constructor(database: DatabaseSync, onWrite: () => void) {
    this.#database = database;
    this.#connection = new NodeSqliteConnection(database, onWrite);
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection;
  }

  async beginTransaction(): Promise<void> {
    await whileBusy(() => this.#database.exec('begin immediate'));
  }

  async commitTransaction(): Promise<void> {
    this.#database.exec('commit');
    this.#connection.ended(true);
  }

  async rollbackTransaction(): Promise<void> {
    // A full disk makes SQLite roll back by itself; a second rollback would then hide the first error behind its own.
    if (this.#database.isTransaction) this.#database.exec('rollback');
    this.#connection.ended(false);
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {
    this.#database.close();
  }
}

class NodeSqliteConnection implements DatabaseConnection {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #onWrite: () => void;
  #wrote = false;

  constructor(database: DatabaseSync, onWrite: () => void) {
    this.#database = database;
    this.#onWrite = onWrite;
  }

  /** A transaction is over. */
  ended(committed: boolean): void {
    if (committed && this.#wrote) this.#onWrite();
    this.#wrote = false;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const parameters = query.parameters as readonly SQLInputValue[];
    const result = await whileBusy(() => this.#run<R>(query.sql, parameters));
    if (query.query.kind !== 'SelectQueryNode') {
      this.#wrote = true;
      if (!this.#database.isTransaction) this.ended(true);
    }
    return result;
  }

  #run<R>(text: string, parameters: readonly SQLInputValue[]): QueryResult<R> {
    const statement = this.#prepare(text);
    if (statement.columns().length > 0) return { rows: statement.all(...parameters) as R[] };
    const { changes } = statement.run(...parameters);
    return { rows: [], numAffectedRows: BigInt(changes) };
  }

  #prepare(text: string): StatementSync {
    const known = this.#statements.get(text);
    if (known !== undefined) return known;
    if (this.#statements.size >= STATEMENTS_MAX) this.#statements.clear();
    const statement = this.#database.prepare(text);
    this.#statements.set(text, statement);
    return statement;
  }

  // biome-ignore lint/correctness/useYield: the interface asks for a generator; no query of ours streams.
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('the catalog answers whole: nothing in it is large enough to stream');
  }
}
