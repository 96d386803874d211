/**
 * The simulated PostgreSQL server: sessions whose statements interleave, each statement a step of its own (an insert of several rows, a
 * step for each row, since it locks them one after another). Statements that meet a lock wait for it; two that would wait for each other
 * are a deadlock, and one of them fails, as do those that wait or idle for too long. The limits are those that the catalog asks for
 * (src/catalog/postgres/postgres-catalog.ts).
 */
import type { Scheduler } from '../scheduler.ts';
import { type Parameters, type SimulatedDatabase, Transaction } from './database.ts';

const LOCK_MILLIS_MAX = 10_000;
const IDLE_IN_TRANSACTION_MILLIS_MAX = 10_000;
/** A server is quick, and yet one statement comes before another. */
const BETWEEN_MILLIS = 0.5;

export interface Answer {
  readonly rows: readonly unknown[];
  readonly rowCount: number;
}

export interface PostgresOptions {
  readonly scheduler: Scheduler;
  readonly database: SimulatedDatabase;
  /** Transactions that begin with such a statement do without the lock that all of them take (../mutations.ts). */
  readonly withoutLock?: readonly RegExp[];
  readonly onDeadlock?: (between: string) => void;
}

/** What the other end of a connection hears of. */
export interface SessionEvents {
  /** Something was committed that an answer may depend on. */
  readonly notified: () => void;
  /** The server has closed the connection. */
  readonly ended: () => void;
}

type Told = (outcome: Answer | Error) => void;

interface Statement {
  readonly text: string;
  readonly parameters: Parameters;
}

interface Attempted {
  readonly transaction: Transaction;
  /** @returns who has locked what it needs; undefined when it was done */
  readonly attempt: () => Transaction | undefined;
  readonly fail: Told;
  readonly done: () => void;
}

const EMPTY: Answer = { rows: [], rowCount: 0 };

export class PostgresServer {
  readonly #options: PostgresOptions;
  readonly #sessions = new Set<PostgresSession>();
  isDown = false;

  constructor(options: PostgresOptions) {
    this.#options = options;
  }

  connect(name: string, told: SessionEvents): PostgresSession {
    if (this.isDown) throw failure('ECONNREFUSED', 'connect ECONNREFUSED');
    const session = new PostgresSession(name, this.#options, {
      ...told,
      ended: () => {
        this.#sessions.delete(session);
        told.ended();
      },
    });
    this.#sessions.add(session);
    return session;
  }

  /** After a commit on which an answer may depend. */
  notify(): void {
    for (const session of this.#sessions) if (session.listens) session.told.notified();
  }

  /** Ends every session, as a restart does. */
  endAll(): void {
    for (const session of [...this.#sessions]) session.end();
  }
}

export class PostgresSession {
  readonly name: string;
  readonly told: SessionEvents;
  readonly #options: PostgresOptions;
  listens = false;
  #transaction: Transaction | undefined;
  #isAborted = false;
  /** See `#lockLate`. */
  #lacksLock = false;
  #hasEnded = false;
  #cancelIdle: () => void = () => undefined;

  constructor(name: string, options: PostgresOptions, told: SessionEvents) {
    this.name = name;
    this.#options = options;
    this.told = told;
  }

  /** Carries a statement out, perhaps after a while; `told` is called once, and never when the session has ended. */
  query(text: string, parameters: Parameters, told: Told): void {
    this.#cancelIdle();
    if (this.#hasEnded) {
      told(failure('57P01', 'terminating connection due to administrator command'));
      return;
    }
    const answer: Told = (outcome) => {
      if (this.#transaction !== undefined) {
        if (outcome instanceof Error) this.#isAborted = true;
        this.#limitIdle();
      }
      if (!this.#hasEnded) told(outcome);
    };
    if (text === 'begin') {
      this.#transaction = new Transaction(this.name);
      this.#isAborted = false;
      this.#lacksLock = false;
      answer(EMPTY);
    } else if (text === 'commit' || text === 'rollback') {
      this.#endTransaction(text === 'commit' && !this.#isAborted);
      answer(EMPTY);
    } else if (this.#isAborted) answer(failure('25P02', 'current transaction is aborted'));
    else this.#carryOut(text, parameters, answer);
  }

  /** The connection is gone: what was not committed never was. */
  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#cancelIdle();
    if (this.#transaction !== undefined) this.#endTransaction(false);
    this.told.ended();
  }

  #carryOut(text: string, parameters: Parameters, answer: Told): void {
    if (this.#lacksLock) this.#lockLate(text, answer, () => this.#carryOut(text, parameters, answer));
    else if (text === 'listen changes') {
      this.listens = true;
      answer(EMPTY);
    } else if (text.startsWith("select format('listen")) {
      answer({ rows: [{ statement: 'listen changes' }], rowCount: 1 });
    } else if (text === 'select 1') answer({ rows: [{}], rowCount: 1 });
    else if (text.includes('pg_advisory_xact_lock')) this.#takeTransactionLock(answer);
    else if (/^select/i.test(text) && this.#transaction === undefined) {
      const rows = this.#options.database.read(text, parameters);
      answer({ rows, rowCount: rows.length });
    } else this.#execute(splitRows(text, parameters), answer);
  }

  #takeTransactionLock(answer: Told): void {
    const { database, withoutLock = [] } = this.#options;
    const transaction = this.#transaction;
    if (transaction === undefined) throw new Error('a lock of a transaction is taken in one');
    if (withoutLock.length > 0) {
      // Only the first statement shows whose transaction it is.
      this.#lacksLock = true;
      answer(EMPTY);
      return;
    }
    const attempt = () => database.lock(transaction, 'all transactions');
    this.#whenFree({ transaction, attempt, fail: answer, done: () => answer(EMPTY) });
  }

  /** With a race put back in: takes the lock now, unless the race is to do without it. */
  #lockLate(text: string, answer: Told, done: () => void): void {
    const { database, withoutLock = [] } = this.#options;
    this.#lacksLock = false;
    const transaction = this.#transaction;
    if (transaction === undefined || withoutLock.some((first) => first.test(text))) done();
    else
      this.#whenFree({
        transaction,
        attempt: () => database.lock(transaction, 'all transactions'),
        fail: answer,
        done,
      });
  }

  /** A statement without a transaction is one of its own. */
  #execute(statements: readonly Statement[], answer: Told): void {
    const { database, scheduler } = this.#options;
    const isOwn = this.#transaction === undefined;
    this.#transaction ??= new Transaction(this.name);
    const transaction = this.#transaction;
    const rows: unknown[] = [];
    let rowCount = 0;
    const fail: Told = (outcome) => {
      if (isOwn) this.#endTransaction(false);
      answer(outcome);
    };
    const next = (index: number): void => {
      const statement = statements[index];
      if (statement === undefined) {
        if (isOwn) this.#endTransaction(true);
        answer({ rows, rowCount });
        return;
      }
      const attempt = () => {
        const outcome = database.execute(statement.text, statement.parameters, transaction);
        if (outcome.kind === 'blocked') return outcome.by;
        rows.push(...outcome.rows);
        rowCount += outcome.changes;
        return undefined;
      };
      const done = () => {
        if (index === statements.length - 1) next(index + 1);
        else scheduler.schedule({ ...this.#soon('next row'), run: () => void (this.#hasEnded || next(index + 1)) });
      };
      this.#whenFree({ transaction, attempt, fail, done });
    };
    next(0);
  }

  /** Attempts it until nobody has a lock that it needs. */
  #whenFree({ transaction, attempt, fail, done }: Attempted): void {
    const { scheduler, onDeadlock } = this.#options;
    let cancelLimit: (() => void) | undefined;
    let isOver = false;
    const end = (tell: () => void) => {
      isOver = true;
      transaction.waitsFor = undefined;
      cancelLimit?.();
      tell();
    };
    const again = () => {
      if (this.#hasEnded || isOver) return;
      let holder: Transaction | undefined;
      try {
        holder = attempt();
      } catch (error) {
        end(() => fail(asPostgres(error)));
        return;
      }
      if (holder === undefined) {
        end(done);
        return;
      }
      transaction.waitsFor = holder;
      if (isWaitingFor(holder, transaction)) {
        onDeadlock?.(`${transaction.name} and ${holder.name}`);
        end(() => fail(failure('40P01', 'deadlock detected')));
        return;
      }
      this.#whenEnded(holder, again);
      const run = () => end(() => fail(failure('55P03', 'canceling statement due to lock timeout')));
      cancelLimit ??= scheduler.schedule({ delayMillis: LOCK_MILLIS_MAX, name: `${this.name}: lock timeout`, run });
    };
    again();
  }

  /** All who wait for the same transaction try again at one moment, in an order that the seed decides. */
  #whenEnded({ waiting, onEnd }: Transaction, again: () => void): void {
    const { scheduler } = this.#options;
    waiting.push(again);
    if (waiting.length > 1) return;
    const run = () => {
      const woken = waiting.splice(0);
      while (woken.length > 0) woken.splice(scheduler.random.below(woken.length), 1)[0]?.();
    };
    onEnd.push(() => scheduler.schedule({ ...this.#soon('lock is free'), run }));
  }

  #soon(name: string): { readonly delayMillis: number; readonly name: string } {
    const delayMillis = (this.#options.scheduler.random.below(1000) / 1000) * BETWEEN_MILLIS;
    return { delayMillis, name: `${this.name}: ${name}` };
  }

  #endTransaction(commits: boolean): void {
    const transaction = this.#transaction;
    this.#transaction = undefined;
    this.#isAborted = false;
    if (transaction === undefined) return;
    if (commits) this.#options.database.commit(transaction);
    else this.#options.database.rollback(transaction);
  }

  #limitIdle(): void {
    this.#cancelIdle();
    this.#cancelIdle = this.#options.scheduler.schedule({
      delayMillis: IDLE_IN_TRANSACTION_MILLIS_MAX,
      name: `${this.name}: idle in transaction`,
      run: () => this.end(),
    });
  }
}

/** Whether whoever `from` waits for waits, in the end, for `transaction`. */
function isWaitingFor(from: Transaction, transaction: Transaction): boolean {
  for (let at: Transaction | undefined = from; at !== undefined; at = at.waitsFor) if (at === transaction) return true;
  return false;
}

const ROWS = /^(insert into .* values )(\(.*?\)(?:, \(.*?\))+)( on conflict .*| returning .*)?$/;

/** An insert of several rows as one for each of them. All its values are parameters. */
function splitRows(text: string, parameters: Parameters): readonly Statement[] {
  const [, insert, values, rest = ''] = ROWS.exec(text) ?? [];
  if (insert === undefined || values === undefined) return [{ text, parameters }];
  return values.split(/(?<=\)), /).map((row) => ({ text: `${insert}${row}${rest}`, parameters }));
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

/** SQLite's word for a broken constraint, as PostgreSQL's. */
function asPostgres(error: unknown): Error {
  const { message } = error as Error;
  if (!/constraint failed/.test(message)) throw error;
  return failure(/FOREIGN KEY/.test(message) ? '23503' : '23505', message);
}
