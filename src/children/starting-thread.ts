/** The thread that starts child processes (start-child.ts). It does as it is told, and tells what it hears. */
import { type ChildProcess, spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import type { ChildEnd, ChildOptions } from './child.ts';

/** What the thread is told. */
export type ThreadOrder =
  | {
      readonly kind: 'start';
      readonly id: number;
      /** The Node that it runs on. */
      readonly node: string;
      readonly options: ChildOptions;
      readonly isHeard: boolean;
    }
  | { readonly kind: 'send'; readonly id: number; readonly message: object }
  | { readonly kind: 'kill'; readonly id: number };

/** What it tells. `ended` is the last that it tells of a child. */
export type ThreadMessage =
  | { readonly kind: 'started'; readonly id: number; readonly pid: number }
  | { readonly kind: 'message'; readonly id: number; readonly message: unknown }
  | { readonly kind: 'said'; readonly id: number; readonly text: string }
  | { readonly kind: 'ended'; readonly id: number; readonly end: ChildEnd };

const children = new Map<number, ChildProcess>();

parentPort?.on('message', (order: ThreadOrder) => {
  if (order.kind === 'start') start(order);
  // Where it has just ended, its end is told.
  else if (order.kind === 'send') children.get(order.id)?.send(order.message, () => undefined);
  else children.get(order.id)?.kill('SIGKILL');
});

function start({ id, node, options, isHeard }: Extract<ThreadOrder, { readonly kind: 'start' }>): void {
  const { program, flags, env, cwd, priority } = options;
  const child = spawn(node, [...flags, program], {
    cwd,
    env,
    stdio: ['ignore', 'ignore', isHeard ? 'pipe' : 'ignore', 'ipc'],
  });
  children.set(id, child);
  let error: Error | undefined;
  child.on('error', (cause) => {
    error ??= cause;
  });
  child.on('message', (message) => tell({ kind: 'message', id, message }));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => tell({ kind: 'said', id, text }));
  child.on('close', (code, signal) => {
    children.delete(id);
    tell({ kind: 'ended', id, end: { code, signal, ...(child.pid === undefined && error && { error }) } });
  });
  if (child.pid === undefined) return;
  if (priority !== undefined) setPriority(child.pid, priority);
  tell({ kind: 'started', id, pid: child.pid });
}

function tell(message: ThreadMessage): void {
  parentPort?.postMessage(message);
}
