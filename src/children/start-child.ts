/**
 * Child processes of this program. To start one, the system copies the page tables of the whole process: 60 ms for a service of a gigabyte, in
 * which its thread can do nothing else. So a thread of its own (starting-thread.ts) starts children, passes on what is said to them and
 * by them, and hears of their ends. It is started with the first of them.
 */
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { ChildEnd, ChildOptions } from './child.ts';
import type { ThreadMessage, ThreadOrder } from './starting-thread.ts';

export interface ChildListener {
  readonly onMessage: (message: unknown) => void;
  /** What it writes to its standard error, in pieces. Where it is left out, nobody hears it. */
  readonly onSaid?: (text: string) => void;
}

export interface Child {
  /** Undefined until it has started. */
  readonly pid: number | undefined;
  /** Resolves when it has ended and all that it said was heard. */
  readonly ended: Promise<ChildEnd>;
  /** What can be written as JSON. It is lost where the child has ended. */
  send(message: object): void;
  /** With SIGKILL. */
  kill(): void;
}

interface Started {
  pid: number | undefined;
  readonly listener: ChildListener;
  readonly ended: PromiseWithResolvers<ChildEnd>;
}

// As this file is: TypeScript in a checkout, JavaScript in a package.
const THREAD = new URL(`./starting-thread${extname(import.meta.url)}`, import.meta.url);

/** By the numbers that the thread knows them by. */
const children = new Map<number, Started>();
let thread: Worker | undefined;
let lastId = 0;

/** Starts a child that ends with this process. It never throws: how it failed to start is how it ended. */
export function startChild(options: ChildOptions, listener: ChildListener): Child {
  thread ??= startThread();
  const startedBy = thread;
  lastId += 1;
  const id = lastId;
  const child: Started = { pid: undefined, listener, ended: Promise.withResolvers() };
  children.set(id, child);
  // The process must not end while somebody waits for a child.
  startedBy.ref();
  const tell = (order: ThreadOrder) => startedBy.postMessage(order);
  tell({ kind: 'start', id, node: process.execPath, options, isHeard: listener.onSaid !== undefined });
  return {
    get pid() {
      return child.pid;
    },
    ended: child.ended.promise,
    send: (message) => tell({ kind: 'send', id, message }),
    kill: () => tell({ kind: 'kill', id }),
  };
}

function startThread(): Worker {
  const started = new Worker(THREAD, { execArgv: ['--disable-warning=ExperimentalWarning'] });
  started.on('message', hear);
  const gone = (error: Error) => {
    if (thread !== started) return;
    thread = undefined;
    // Their channels have ended, and they end with these.
    for (const id of [...children.keys()]) end(id, { code: null, signal: null, error });
  };
  started.on('error', gone);
  started.on('exit', () => gone(new Error('the thread that starts child processes has ended')));
  return started;
}

function hear(message: ThreadMessage): void {
  const child = children.get(message.id);
  switch (message.kind) {
    case 'started':
      if (child !== undefined) child.pid = message.pid;
      break;
    case 'message':
      child?.listener.onMessage(message.message);
      break;
    case 'said':
      child?.listener.onSaid?.(message.text);
      break;
    case 'ended':
      end(message.id, message.end);
      break;
    default:
      message satisfies never;
  }
}

function end(id: number, how: ChildEnd): void {
  children.get(id)?.ended.resolve(how);
  children.delete(id);
  if (children.size === 0) thread?.unref();
}
