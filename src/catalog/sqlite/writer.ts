/**
 * The writing side of a SQLite catalog, as the service's thread sees it: whose turn it is to write, and statements that a thread of its
 * own carries out (writer-thread.ts). That thread is started with the first of them. Nothing here blocks.
 */
import { extname } from 'node:path';
import type { SQLInputValue } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { isBusy } from './busy.ts';
import type { WriterAnswer, WriterOptions, WriterRequest } from './writer-thread.ts';

export interface Written {
  readonly rows: readonly unknown[];
  readonly changes: number | bigint;
}

/** The right to write, of one at a time in this process. */
export interface WriterTurn {
  run(text: string, parameters?: readonly SQLInputValue[]): Promise<Written>;
  /** Undoes a transaction that was not committed, and lets the next one write. */
  end(): Promise<void>;
}

// As this file is: TypeScript in a checkout, JavaScript in a package.
const THREAD = new URL(`./writer-thread${extname(import.meta.url)}`, import.meta.url);

export class SqliteWriter {
  readonly #options: WriterOptions;
  #thread: Worker | undefined;
  /** Whoever was not answered yet, in the order of asking. */
  #asking: PromiseWithResolvers<WriterAnswer>[] = [];
  /** Resolves when whoever is last in the line has ended. */
  #line: Promise<void> = Promise.resolve();

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  async takeTurn(): Promise<WriterTurn> {
    const before = this.#line;
    const ended = Promise.withResolvers<void>();
    this.#line = ended.promise;
    await before;
    let mayBeOpen = false;
    return {
      run: async (text, parameters = []) => {
        if (text === 'begin') mayBeOpen = true;
        const written = await this.#ask({ text, parameters });
        if (text === 'commit' || text === 'rollback') mayBeOpen = false;
        return written;
      },
      end: async () => {
        try {
          // If the thread is gone, its transaction is, too.
          if (mayBeOpen && this.#thread !== undefined) await this.#ask({ text: 'rollback', parameters: [] });
        } finally {
          ended.resolve();
        }
      },
    };
  }

  /** Waits for the writers and closes the connection. The last connection to a catalog moves its log into the file. */
  async close(): Promise<void> {
    await this.#line;
    const thread = this.#thread;
    if (thread === undefined) return;
    const exited = new Promise((resolve) => thread.once('exit', resolve));
    thread.ref();
    thread.postMessage('close');
    await exited;
  }

  async #ask(request: WriterRequest): Promise<Written> {
    this.#thread ??= this.#start();
    const thread = this.#thread;
    const answered = Promise.withResolvers<WriterAnswer>();
    this.#asking.push(answered);
    // The process must not end while somebody waits for an answer.
    thread.ref();
    thread.postMessage(request);
    const answer = await answered.promise;
    if (answer.kind === 'done') return answer;
    const error = Object.assign(new Error(answer.message), { code: answer.code, errcode: answer.errcode });
    if (!isBusy(error)) throw error;
    const seconds = this.#options.busyMillis / 1000;
    throw new Error(`the catalog has been locked by another process for ${seconds} seconds`, { cause: error });
  }

  #start(): Worker {
    const thread = new Worker(THREAD, {
      workerData: this.#options,
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    thread.on('message', (answer: WriterAnswer) => {
      this.#asking.shift()?.resolve(answer);
      if (this.#asking.length === 0) thread.unref();
    });
    const gone = (error: Error) => {
      if (this.#thread !== thread) return;
      this.#thread = undefined;
      for (const { reject } of this.#asking.splice(0)) reject(error);
    };
    thread.on('error', gone);
    thread.on('exit', () => gone(new Error('the thread that writes the catalog has ended')));
    return thread;
  }
}
