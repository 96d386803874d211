/**
 * The messages between a worker and its supervisor. A worker is a process that answers requests. The supervisor starts several
 * of them on one address, and keeps the state that they share. Messages are plain data, since they pass between processes as
 * JSON.
 */
import type { Allowance } from '../domain/token-buckets.ts';

/** Which of the workers one is. */
export interface WorkerRole {
  /** From 0. Worker 0 runs the schedule. */
  readonly index: number;
  readonly count: number;
  /** All of them are one replica, for which the supervisor says that it runs. */
  readonly replica: { readonly id: string; readonly name: string };
  /** The text of the configuration file with which the supervisor began; absent where there was none. */
  readonly configuration?: string | undefined;
}

/** A key's tokens that one worker may hand out without asking again. */
export interface TokenGrant {
  readonly tokens: number;
  /** What the key has left after these tokens. */
  readonly allowance: Allowance;
}

/** The questions of a worker, and the replies. Each reply carries the number of its question. */
export interface Questions {
  readonly role: { readonly ask: object; readonly reply: WorkerRole };
  readonly tokens: { readonly ask: { readonly keyId: string }; readonly reply: TokenGrant };
  /** What every worker has told last, in prom-client's form. */
  readonly metrics: { readonly ask: object; readonly reply: readonly unknown[] };
  /** Whether a worker that is asked to stop may take no more connections: others do, and the service goes on. */
  readonly leave: { readonly ask: object; readonly reply: boolean };
}
export type Question = keyof Questions;

export type FromWorker =
  | { readonly kind: 'ask'; readonly id: number; readonly question: Question; readonly about: object }
  | { readonly kind: 'listening'; readonly url: string }
  /** Tokens that the worker did not use. */
  | { readonly kind: 'unused_tokens'; readonly keyId: string; readonly tokens: number }
  | { readonly kind: 'collected'; readonly id: number; readonly metrics: unknown };

export type FromSupervisor =
  | { readonly kind: 'reply'; readonly id: number; readonly reply: unknown }
  | { readonly kind: 'collect'; readonly id: number };

/** The other process, as this one sees it. */
export interface Channel<Sent, Received> {
  /** To a process that is gone, `send` does nothing. */
  send(message: Sent): void;
  /** The listener gets every message, in order. */
  onMessage(listener: (message: Received) => void): void;
}

/** A worker, as the supervisor sees it. */
export interface WorkerProcess extends Channel<FromSupervisor, FromWorker> {
  /** Asks it to stop. */
  stop(): void;
  /** Ends it, whatever it is at. */
  kill(): void;
  /** Resolves when the process has ended, with why: `exit code 1`, `SIGKILL`. */
  readonly ended: Promise<string>;
}

/** From a worker to its supervisor. Keeps the process alive until it is disposed of. */
export interface SupervisorChannel extends Channel<FromWorker, FromSupervisor>, Disposable {
  /** Resolves when the supervisor is gone. */
  readonly gone: Promise<void>;
}

/** How the program starts workers, and how a worker reaches its supervisor. */
export interface WorkerEffects {
  /** Undefined in a process that is no worker. */
  readonly supervisor: () => Promise<SupervisorChannel | undefined>;
  /** Makes the function that starts a worker: this program again, with these arguments. */
  readonly forkWith: (args: readonly string[]) => Promise<() => WorkerProcess>;
}
