/** What a command may touch of the world outside: handed in by main.ts, and by tests. */
import type { Readable } from 'node:stream';
import type { Clock, Instant } from '../domain/instant.ts';
import type { Sleep } from '../domain/time.ts';
import type { RandomBytes } from '../keys/create-key.ts';
import type { StartTimer } from '../observation/watch-event-loop.ts';
import type { WorkerEffects } from '../workers/messages.ts';

export interface CommandContext {
  /** Of this program, as its package says. */
  readonly version: string;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Opened only by the command that reads it. */
  readonly stdin: () => Readable;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The text of a file, or undefined when there is none; relative to the working directory. */
  readonly readFile: (path: string) => string | undefined;
  /** Memory of the machine or its cgroup. */
  readonly machineBytes?: number;
  readonly clock: Clock;
  /** Waits. Only commands that run for long need it. */
  readonly sleep: Sleep;
  /** Milliseconds that only ever grow, for timing. */
  readonly monotonic: () => number;
  /** CPU time that the event loop's thread has taken. */
  readonly threadCpuMicros: () => number;
  /** As `setTimeout`. */
  readonly startTimer: StartTimer;
  readonly randomBytes: RandomBytes;
  /** Uniform in [0, 1). No secrets are made of it. */
  readonly random: () => number;
  /** Names this process among those that share the catalog, as the owner of its leases. */
  readonly owner: string;
  readonly hostName: string;
  /** A new execution id, sorted by the time given, and among those of the same millisecond by when it was asked for. */
  readonly newExecutionId: (at: Instant) => string;
  /** From now on the process goes on though nobody reads what it prints. */
  readonly outliveReaders: () => void;
  /** An interrupted command may take this much longer than others to end. Then the process is ended, whatever it is doing. */
  readonly allowGrace: (millis: number) => void;
  /** Who computes first where the cores do not suffice. */
  readonly priority: {
    /** From now on the threads that compute come after the event loop. */
    eventLoopFirst(): void;
    /** From now on this process comes after a service on the same machine. */
    serviceFirst(): void;
  };
  /** Several processes that answer requests together. */
  readonly workers: WorkerEffects;
  /** Aborted when the user interrupts. */
  readonly signal: AbortSignal;
}

export interface Output {
  /** @param done called when the text is out, or could not be written */
  write(text: string, done?: (error?: Error | null) => void): unknown;
  /** Whether somebody is watching: then progress is shown. */
  readonly isTerminal: boolean;
  /** The width of the terminal in characters, where it is known. */
  readonly columns?: number | undefined;
}
