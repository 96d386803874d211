/**
 * The tables of the catalog in an in-memory SQLite, shared by transactions that are open side by side. Between two statements the database
 * holds what is committed. What a transaction has changed is kept apart, row by row, and laid over that while one of its statements
 * runs: so it sees what others committed meanwhile and its own changes, which is PostgreSQL's "read committed". A row that another
 * open transaction has changed cannot be changed: the statement is undone, and has to wait.
 */
import { constants, DatabaseSync, type Session, type StatementSync } from 'node:sqlite';
import { MIGRATIONS } from '../../src/catalog/sqlite/migrations.ts';
import { parseChangeset, type RowChange } from './changeset.ts';

export type Parameters = readonly unknown[];

export type Outcome =
  | { readonly kind: 'done'; readonly rows: readonly unknown[]; readonly changes: number }
  | { readonly kind: 'blocked'; readonly by: Transaction };

/** One that is open: what it has changed so far, and the rows that it has locked by that. */
export class Transaction {
  readonly name: string;
  hasChanges = false;
  /** While another's changes are laid over what is committed, and not its own. */
  changes: Uint8Array = new Uint8Array();
  readonly locked = new Set<string>();
  waitsFor: Transaction | undefined;
  /** Who tries again when it has ended. */
  readonly waiting: (() => void)[] = [];
  /** Told when it has ended, either way. */
  readonly onEnd: (() => void)[] = [];

  constructor(name: string) {
    this.name = name;
  }
}

interface Mounted {
  readonly transaction: Transaction;
  readonly session: Session;
}

export class SimulatedDatabase {
  readonly #db = new DatabaseSync(':memory:', { enableForeignKeyConstraints: true });
  readonly #statements = new Map<string, StatementSync>();
  readonly #columns = new Map<string, readonly string[]>();
  readonly #locks = new Map<string, Transaction>();
  readonly #rewrite: (text: string) => string;
  /** Whose changes are laid over what is committed at the moment. They stay there until somebody else comes. */
  #mounted: Mounted | undefined;
  /** Told of each commit, after it. */
  onCommit: (changes: readonly RowChange[]) => void = () => undefined;

  /** @param rewrite a statement as it is carried out */
  constructor(rewrite: (text: string) => string = (text) => text) {
    this.#rewrite = rewrite;
    for (const { script } of MIGRATIONS) this.#db.exec(script);
    // Whoever is told of changes here is told by `onCommit`.
    const counting = this.#db.prepare(
      `select name from sqlite_schema where type = 'trigger' and sql like '%changes set%'`,
    );
    for (const { name } of counting.all()) this.#db.exec(`drop trigger "${name}"`);
  }

  /** What the function of PostgreSQL's catalogs that tells the time answers. */
  setClock(clock: () => number): void {
    this.#db.function('qrs_now', clock);
  }

  /** What is committed. */
  read(text: string, parameters: Parameters = []): readonly unknown[] {
    this.#unmount();
    return this.#run(text, parameters).rows;
  }

  /** One statement of a transaction, or one that is committed by itself. */
  execute(text: string, parameters: Parameters, transaction?: Transaction): Outcome {
    if (transaction === undefined) return this.#executeAlone(text, parameters);
    const isRead = this.#isRead(text);
    if (isRead && !transaction.hasChanges) return { kind: 'done', rows: this.read(text, parameters), changes: 0 };
    this.#mount(transaction);
    if (isRead) return { kind: 'done', ...this.#run(text, parameters) };
    this.#db.exec('savepoint statement');
    const session = this.#db.createSession();
    try {
      const done = this.#run(text, parameters);
      const blocked = this.#lockRows(transaction, session.changeset());
      if (blocked !== undefined) {
        this.#db.exec('rollback to statement');
        return { kind: 'blocked', by: blocked };
      }
      return { kind: 'done', ...done };
    } catch (error) {
      this.#db.exec('rollback to statement');
      throw error;
    } finally {
      session.close();
      this.#db.exec('release statement');
    }
  }

  /** Locks something that has a name and no row. @returns who has locked it */
  lock(transaction: Transaction, name: string): Transaction | undefined {
    const holder = this.#locks.get(name);
    if (holder !== undefined && holder !== transaction) return holder;
    this.#locks.set(name, transaction);
    transaction.locked.add(name);
    return undefined;
  }

  commit(transaction: Transaction): void {
    let changes: readonly RowChange[] = [];
    if (transaction.hasChanges) {
      const session = this.#mount(transaction);
      changes = parseChangeset(session.changeset(), this.#columnsOf);
      session.close();
      this.#mounted = undefined;
      this.#db.exec('commit');
    }
    this.#end(transaction);
    if (changes.length > 0) this.onCommit(changes);
  }

  rollback(transaction: Transaction): void {
    if (this.#mounted?.transaction === transaction) this.#unmount();
    this.#end(transaction);
  }

  #end(transaction: Transaction): void {
    for (const key of transaction.locked) this.#locks.delete(key);
    transaction.hasChanges = false;
    transaction.changes = new Uint8Array();
    transaction.locked.clear();
    transaction.waitsFor = undefined;
    for (const told of transaction.onEnd.splice(0)) told();
  }

  #executeAlone(text: string, parameters: Parameters): Outcome {
    if (this.#isRead(text)) return { kind: 'done', rows: this.read(text, parameters), changes: 0 };
    const alone = new Transaction('one statement');
    const outcome = this.execute(text, parameters, alone);
    if (outcome.kind === 'done') this.commit(alone);
    else this.rollback(alone);
    return outcome;
  }

  #mount(transaction: Transaction): Session {
    if (this.#mounted?.transaction === transaction) return this.#mounted.session;
    this.#unmount();
    this.#db.exec('begin');
    const session = this.#db.createSession();
    this.#mounted = { transaction, session };
    if (transaction.changes.length > 0) {
      // What a trigger did is among the changes, and is done by the trigger again.
      const onConflict = (kind: number) =>
        kind === constants.SQLITE_CHANGESET_NOTFOUND
          ? constants.SQLITE_CHANGESET_OMIT
          : constants.SQLITE_CHANGESET_ABORT;
      if (!this.#db.applyChangeset(transaction.changes, { onConflict })) {
        throw new Error(`the changes of ${transaction.name} do not fit what is committed: its locks did not hold`);
      }
    }
    return session;
  }

  #unmount(): void {
    if (this.#mounted === undefined) return;
    const { transaction, session } = this.#mounted;
    if (transaction.hasChanges) transaction.changes = session.changeset();
    session.close();
    this.#mounted = undefined;
    this.#db.exec('rollback');
  }

  /** Locks the changed rows. @returns who has locked one of them before */
  #lockRows(transaction: Transaction, changes: Uint8Array): Transaction | undefined {
    const keys = parseChangeset(changes, this.#columnsOf).map(({ key }) => key);
    for (const key of keys) {
      const holder = this.#locks.get(key);
      if (holder !== undefined && holder !== transaction) return holder;
    }
    if (keys.length > 0) transaction.hasChanges = true;
    for (const key of keys) {
      this.#locks.set(key, transaction);
      transaction.locked.add(key);
    }
    return undefined;
  }

  #isRead(text: string): boolean {
    return /^\s*(?:select|with)\b/i.test(text);
  }

  #run(text: string, parameters: Parameters): { readonly rows: readonly unknown[]; readonly changes: number } {
    const statement = this.#prepare(text);
    // PostgreSQL's `$1` is a name to SQLite, the first `?` a place.
    const named = /\$\d/.test(text)
      ? Object.fromEntries(parameters.map((value, at) => [`$${at + 1}`, value]))
      : undefined;
    const given = named === undefined ? parameters : [named];
    if (statement.columns().length > 0) {
      const rows = statement.all(...(given as never[]));
      return { rows, changes: rows.length };
    }
    return { rows: [], changes: Number(statement.run(...(given as never[])).changes) };
  }

  #prepare(text: string): StatementSync {
    const known = this.#statements.get(text);
    if (known !== undefined) return known;
    const statement = this.#db.prepare(this.#rewrite(text));
    statement.setAllowUnknownNamedParameters(true);
    this.#statements.set(text, statement);
    return statement;
  }

  readonly #columnsOf = (table: string): readonly string[] => {
    const known = this.#columns.get(table);
    if (known !== undefined) return known;
    const found = this.#db.prepare(`select name from pragma_table_info(?)`).all(table);
    const columns = found.map(({ name }) => String(name));
    this.#columns.set(table, columns);
    return columns;
  };

  close(): void {
    this.#unmount();
    this.#db.close();
  }
}

/** Enough of a statement to know it by, and its first values. */
export function shortened(text: string, parameters: Parameters): string {
  const values = parameters.length === 0 ? '' : ` [${parameters.slice(0, 6).join(', ').slice(0, 160)}]`;
  return `${text.replaceAll('"', '').slice(0, 70)}${values}`;
}
