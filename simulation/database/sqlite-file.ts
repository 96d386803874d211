/**
 * The simulated SQLite file: one writer at a time over all processes, and readers who see what is committed. What the catalog's dialect uses
 * of `node:sqlite` and of the writer's thread is here. A process that is killed loses its lock at once; one that is frozen keeps it, and the
 * others give up after a while.
 */
import type { SqliteConnections } from '../../src/catalog/sqlite/dialect.ts';
import type { WriterTurn, Written } from '../../src/catalog/sqlite/writer.ts';
import type { Host } from '../host.ts';
import type { Scheduler } from '../scheduler.ts';
import { type Parameters, type SimulatedDatabase, shortened, Transaction } from './database.ts';

const BUSY_MILLIS_MAX = 10_000;
/** A commit waits for the disk. */
const COMMIT_MILLIS = 8;

/** The lock of the file. */
export class SqliteFile {
  readonly scheduler: Scheduler;
  readonly database: SimulatedDatabase;
  #writer: object | undefined;
  readonly #waiting = new Set<() => void>();

  constructor(scheduler: Scheduler, database: SimulatedDatabase) {
    this.scheduler = scheduler;
    this.database = database;
  }

  /** Tells `locked` when `writer` has the lock; @returns gives up waiting */
  lock(writer: object, locked: () => void): () => void {
    const attempt = () => {
      if (this.#writer !== undefined) return;
      this.#waiting.delete(attempt);
      this.#writer = writer;
      locked();
    };
    this.#waiting.add(attempt);
    attempt();
    return () => this.#waiting.delete(attempt);
  }

  unlock(writer: object): void {
    if (this.#writer !== writer) return;
    this.#writer = undefined;
    // SQLite keeps no line: whoever asks next has it.
    const run = () => {
      if (this.#waiting.size > 0) this.scheduler.random.pick([...this.#waiting])();
    };
    this.scheduler.schedule({ delayMillis: this.scheduler.random.below(1000) / 1000, name: 'the file is free', run });
  }
}

/** What one process has opened. */
export function sqliteConnections(file: SqliteFile, host: Host): SqliteConnections {
  const writer = new SimulatedWriter(file, host);
  const reader = {
    isOpen: true,
    prepare: (text: string) => ({ all: (...parameters: Parameters) => file.database.read(text, parameters) }),
    close: () => undefined,
  };
  return { reader, writer, sleep: host.sleep } as unknown as SqliteConnections;
}

class SimulatedWriter {
  readonly #file: SqliteFile;
  readonly #host: Host;
  #line: Promise<void> = Promise.resolve();
  #transaction: Transaction | undefined;

  constructor(file: SqliteFile, host: Host) {
    this.#file = file;
    this.#host = host;
    host.onDeath(() => this.#end(false));
  }

  async takeTurn(): Promise<WriterTurn> {
    const before = this.#line;
    const ended = Promise.withResolvers<void>();
    this.#line = ended.promise;
    await before;
    return {
      run: async (text, parameters = []) => await this.#run(text, parameters),
      end: async () => {
        this.#end(false);
        ended.resolve();
      },
    };
  }

  async close(): Promise<void> {
    await this.#line;
  }

  async #run(text: string, parameters: Parameters): Promise<Written> {
    await this.#message(shortened(text, parameters));
    switch (text) {
      case 'begin':
        await this.#lock();
        this.#transaction = new Transaction(this.#host.name);
        break;
      case 'commit':
        await this.#file.scheduler.after(this.#host, COMMIT_MILLIS, 'the disk');
        this.#end(true);
        break;
      case 'rollback':
        this.#end(false);
        break;
      default: {
        const isAlone = this.#transaction === undefined;
        if (isAlone) await this.#lock();
        try {
          const { rows, changes } = this.#execute(text, parameters);
          await this.#message('answer');
          return { rows, changes };
        } finally {
          if (isAlone) this.#file.unlock(this);
        }
      }
    }
    await this.#message('answer');
    return { rows: [], changes: 0 };
  }

  #execute(text: string, parameters: Parameters): Written {
    const outcome = this.#file.database.execute(text, parameters, this.#transaction);
    if (outcome.kind === 'blocked') throw new Error('SQLite has one writer at a time, and another one is writing');
    return outcome;
  }

  async #lock(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const { scheduler } = this.#file;
      const giveUp = () => {
        leave();
        reject(Object.assign(new Error('database is locked'), { errcode: 5 }));
      };
      const cancel = scheduler.schedule({ delayMillis: BUSY_MILLIS_MAX, party: this.#host, name: 'busy', run: giveUp });
      const leave = this.#file.lock(this, () => {
        cancel();
        resolve();
      });
      this.#host.onDeath(leave);
    });
  }

  /** Rolls back what is not committed, and lets others write. */
  #end(commits: boolean): void {
    const transaction = this.#transaction;
    this.#transaction = undefined;
    if (transaction !== undefined && commits) this.#file.database.commit(transaction);
    else if (transaction !== undefined) this.#file.database.rollback(transaction);
    this.#file.unlock(this);
  }

  /** From the service's thread to the writer's, and back. */
  async #message(text: string): Promise<void> {
    await this.#file.scheduler.after(this.#host, 0.1, text);
  }
}
