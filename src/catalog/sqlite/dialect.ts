/**
 * Kysely's SQLite dialect over Node's own `node:sqlite`, with two connections to the file. A SELECT is answered at once on this thread
 * and sees all that has been committed. Writes, and everything in a transaction, go to the writer's thread (writer.ts), one after
 * another. So no reader ever waits for a slow disk that somebody writes to. What looks at many rows is asked of a third connection, in a
 * thread like the writer's, so that nobody waits for that either.
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
import type { Sleep } from '../../domain/time.ts';
import { Turns } from '../../domain/turns.ts';
import { whileBusy } from './busy.ts';
import type { SqliteWriter, WriterTurn } from './writer.ts';

/**
 * We have few different texts of queries, since values are parameters. Beyond this number there must be lists of unusual lengths among
 * them.
 */
const STATEMENTS_MAX = 200;

/** Of reads that are answered in this thread, each in about a tenth of a millisecond. A list asks for hundreds, one after another. */
const READS_PER_ROUND = 40;

export interface SqliteConnections {
  /** Nothing is written by it. Without it everything goes to the thread, and one waits for another. */
  readonly reader?: DatabaseSync;
  readonly writer: SqliteWriter;
  readonly sleep: Sleep;
}

export class NodeSqliteDialect implements Dialect {
  readonly #connections: SqliteConnections;

  constructor(connections: SqliteConnections) {
    this.#connections = connections;
  }

  createDriver(): Driver {
    return new NodeSqliteDriver(this.#connections);
  }

  createQueryCompiler(): QueryCompiler {
    return new SqliteQueryCompiler();
  }

  createAdapter(): DialectAdapter {
    return new TwoConnectionsAdapter();
  }

  createIntrospector(db: Kysely<unknown>): DatabaseIntrospector {
    return new SqliteIntrospector(db);
  }
}

class TwoConnectionsAdapter extends SqliteAdapter {
  /** Otherwise Kysely would make readers wait for writers. */
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

class NodeSqliteDriver implements Driver {
  readonly #reader: Reader | undefined;
  readonly #writer: SqliteWriter;

  constructor({ reader, writer, sleep }: SqliteConnections) {
    this.#reader = reader === undefined ? undefined : new Reader(reader, sleep);
    this.#writer = writer;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<NodeSqliteConnection> {
    return new NodeSqliteConnection(this.#reader, this.#writer);
  }

  async beginTransaction(connection: NodeSqliteConnection): Promise<void> {
    await connection.begin();
  }

  async commitTransaction(connection: NodeSqliteConnection): Promise<void> {
    await connection.end('commit');
  }

  async rollbackTransaction(connection: NodeSqliteConnection): Promise<void> {
    await connection.end('rollback');
  }

  async releaseConnection(connection: NodeSqliteConnection): Promise<void> {
    await connection.release();
  }

  async destroy(): Promise<void> {
    this.#reader?.close();
    await this.#writer.close();
  }
}

/** The connection of one statement or one transaction. */
class NodeSqliteConnection implements DatabaseConnection {
  readonly #reader: Reader | undefined;
  readonly #writer: SqliteWriter;
  #turn: WriterTurn | undefined;

  constructor(reader: Reader | undefined, writer: SqliteWriter) {
    this.#reader = reader;
    this.#writer = writer;
  }

  async begin(): Promise<void> {
    this.#turn = await this.#writer.takeTurn();
    await this.#turn.run('begin');
  }

  async end(how: 'commit' | 'rollback'): Promise<void> {
    await this.#turn?.run(how);
  }

  async release(): Promise<void> {
    await this.#turn?.end();
    this.#turn = undefined;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const parameters = query.parameters as readonly SQLInputValue[];
    if (this.#reader !== undefined && this.#turn === undefined && query.query.kind === 'SelectQueryNode') {
      return { rows: await this.#reader.all<R>(query.sql, parameters) };
    }
    // A single statement keeps the turn until its connection is released.
    this.#turn ??= await this.#writer.takeTurn();
    const { rows, changes } = await this.#turn.run(query.sql, parameters);
    return { rows: rows as R[], numAffectedRows: BigInt(changes) };
  }

  // biome-ignore lint/correctness/useYield: the interface asks for a generator; no query of ours streams.
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('the catalog answers whole: nothing in it is large enough to stream');
  }
}

class Reader {
  readonly #database: DatabaseSync;
  readonly #sleep: Sleep;
  readonly #statements = new Map<string, StatementSync>();
  readonly #turns = new Turns(READS_PER_ROUND);

  constructor(database: DatabaseSync, sleep: Sleep) {
    this.#database = database;
    this.#sleep = sleep;
  }

  async all<R>(text: string, parameters: readonly SQLInputValue[]): Promise<R[]> {
    const inTurn = this.#turns.nextIfMany();
    if (inTurn !== undefined) await inTurn;
    return await whileBusy(() => this.#allNow<R>(text, parameters), this.#sleep);
  }

  #allNow<R>(text: string, parameters: readonly SQLInputValue[]): R[] {
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      if (this.#statements.size >= STATEMENTS_MAX) this.#statements.clear();
      statement = this.#database.prepare(text);
      this.#statements.set(text, statement);
    }
    return statement.all(...parameters) as R[];
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }
}
