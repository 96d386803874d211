/**
 * The thread that writes a SQLite catalog. A commit waits for the disk, for seconds if the disk is slow, and the service must answer
 * meanwhile. There is one connection, and one statement at a time: writer.ts sends the next when this thread has answered the last.
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { type OpenedFile, requireOpened } from './opened-files.ts';

/** What the thread is started with. */
export interface WriterOptions {
  readonly path: string;
  /** As the catalog's own thread has opened them. */
  readonly files: readonly OpenedFile[];
  /** How long to wait for another process's lock. This thread may sleep. */
  readonly busyMillis: number;
  /** For tests: how much longer each sync to the disk takes. */
  readonly commitMillis: number;
  /** It makes lists, and writes nothing. */
  readonly onlyReads?: true;
}

export interface WriterRequest {
  /** `begin`, `commit` and `rollback` are those of transactions; anything else is a statement. */
  readonly text: string;
  readonly parameters: readonly SQLInputValue[];
}

export type WriterAnswer =
  | { readonly kind: 'done'; readonly rows: readonly unknown[]; readonly changes: number | bigint }
  | { readonly kind: 'failed'; readonly message: string; readonly code: unknown; readonly errcode: unknown };

/**
 * We have few different texts of statements, since values are parameters. Beyond this number there must be lists of unusual lengths among
 * them.
 */
const STATEMENTS_MAX = 200;

const { path, files, busyMillis, commitMillis, onlyReads } = workerData as WriterOptions;
const database = new DatabaseSync(path, { enableForeignKeyConstraints: true, timeout: busyMillis });
database.exec('pragma synchronous = full');
if (onlyReads) database.exec('pragma query_only = on');
const statements = new Map<string, StatementSync>();

parentPort?.on('message', (request: WriterRequest | 'close') => {
  if (request === 'close') {
    database.close();
    parentPort?.close();
    return;
  }
  parentPort?.postMessage(answer(request));
});

function answer(request: WriterRequest): WriterAnswer {
  try {
    return run(request);
  } catch (error) {
    const { message, code, errcode } = error as Error & { readonly code?: unknown; readonly errcode?: unknown };
    return { kind: 'failed', message, code, errcode };
  }
}

function run({ text, parameters }: WriterRequest): WriterAnswer {
  switch (text) {
    case 'begin':
      // The lock is taken now, so that nothing that the transaction reads can change before it writes.
      database.exec('begin immediate');
      break;
    case 'commit':
      requireKept();
      delay();
      database.exec('commit');
      break;
    case 'rollback':
      // A full disk makes SQLite roll back by itself; a second rollback would hide the first error behind its own.
      if (database.isTransaction) database.exec('rollback');
      break;
    default:
      return execute(text, parameters);
  }
  return { kind: 'done', rows: [], changes: 0 };
}

function execute(text: string, parameters: readonly SQLInputValue[]): WriterAnswer {
  const statement = prepare(text);
  if (!database.isTransaction && !onlyReads) requireKept();
  if (!database.isTransaction) delay();
  if (statement.columns().length > 0) return { kind: 'done', rows: statement.all(...parameters), changes: 0 };
  return { kind: 'done', rows: [], changes: statement.run(...parameters).changes };
}

function prepare(text: string): StatementSync {
  const known = statements.get(text);
  if (known !== undefined) return known;
  if (statements.size >= STATEMENTS_MAX) statements.clear();
  const statement = database.prepare(text);
  statements.set(text, statement);
  return statement;
}

/** @throws Error where a commit would be kept by no file that anybody else has */
function requireKept(): void {
  try {
    requireOpened(path, files);
  } catch (error) {
    const why = (error as Error).message;
    throw new Error(`the catalog takes no commits: ${why}; stop all that use it, and then start it`, { cause: error });
  }
}

function delay(): void {
  if (commitMillis > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, commitMillis);
}
