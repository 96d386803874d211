/**
 * What a worker and its supervisor tell each other. A worker is a process that answers requests; the supervisor starts several of
 * them on one address, and keeps what they must agree on. Plain data, since it passes between processes as JSON.
 */
import type { Allowance } from '../domain/token-buckets.ts';

/** Which of the workers one is. */
export interface WorkerRole {
  /** From 0. Worker 0 runs the schedule. */
  readonly index: number;
  readonly count: number;
}

/** Tokens of a key that one worker may hand out by itself. */
export interface TokenGrant {
  readonly tokens: number;
  /** What is left after them. */
  readonly allowance: Allowance;
}

/** What a worker may ask, and what it gets. Each answer carries the number of its question. */
export interface Questions {
  readonly role: { readonly ask: object; readonly reply: WorkerRole };
  readonly tokens: { readonly ask: { readonly keyId: string }; readonly reply: TokenGrant };
  /** The metrics of each worker that answered in time, in prom-client's form. */
  readonly metrics: { readonly ask: object; readonly reply: readonly unknown[] };
}
export type Question = keyof Questions;

export type FromWorker =
  | { readonly kind: 'ask'; readonly id: number; readonly question: Question; readonly about: object }
  | { readonly kind: 'listening'; readonly url: string }
  /** Tokens that nobody needed. */
  | { readonly kind: 'unused_tokens'; readonly keyId: string; readonly tokens: number }
  | { readonly kind: 'collected'; readonly id: number; readonly metrics: unknown };

export type FromSupervisor =
  | { readonly kind: 'reply'; readonly id: number; readonly reply: unknown }
  | { readonly kind: 'collect'; readonly id: number };

/** One process, as the other sees it. */
export interface Channel<Sent, Received> {
  /** Telling a process that is gone does nothing. */
  send(message: Sent): void;
  /** Called with each message, in order. */
  onMessage(listener: (message: Received) => void): void;
}

/** A worker as its supervisor has it. */
export interface WorkerProcess extends Channel<FromSupervisor, FromWorker> {
  /** Asks it to stop. */
  stop(): void;
  /** Resolves when the process has ended, with why: `exit code 1`, `SIGKILL`. */
  readonly ended: Promise<string>;
}

/** From a worker to its supervisor. It keeps the process going until it is disposed of. */
export interface SupervisorChannel extends Channel<FromWorker, FromSupervisor>, Disposable {}

/** How a program gets at its workers, and a worker at its supervisor. */
export interface WorkerEffects {
  /** Undefined in a process that is no worker. */
  readonly supervisor: () => Promise<SupervisorChannel | undefined>;
  /** What starts a worker: this program once more, with these words. */
  readonly forkWith: (args: readonly string[]) => Promise<() => WorkerProcess>;
}
