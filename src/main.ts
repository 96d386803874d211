/** Where the program meets the process: the only file that touches the clock, the environment, signals and randomness. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { monotonicFactory } from 'ulid';
import type { Output } from './cli/command-context.ts';
import { runCommand } from './cli/run-command.ts';
import { readFileIfThere } from './files/read-if-there.ts';
import { writeWhole } from './files/write-whole.ts';
import { keepTick } from './kept-tick.ts';
import { currentLeaseOwner } from './leases/lease-owner.ts';
import { machineMemory } from './settings/machine-memory.ts';
import { letEventLoopFirst, letServiceFirst } from './thread-priority.ts';

keepTick();

/** A terminal interrupts a whole group of processes, and npm and bin/qrs.js pass on what they got: one Ctrl-C may arrive as two signals. */
const SAME_SIGNAL_MILLIS = 500;
/** What is still going on so long after the command has ended is waited for by nobody. */
const LEAVE_MILLIS = 3000;
/** How long a command that was interrupted may take to put things in order, unless it says otherwise. */
const STOP_MILLIS = 10_000;
const PARENT_POLL_MILLIS = 500;

const interruption = new AbortController();
let interruptedAt = Number.NEGATIVE_INFINITY;
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => {
    const now = performance.now();
    // Whoever asks again does not want to wait for things to be put in order.
    if (interruption.signal.aborted && now - interruptedAt > SAME_SIGNAL_MILLIS) end(1);
    interrupt(name);
  });
}
followParent();

writeWhole(process.stdout);
writeWhole(process.stderr);
let outlivesReaders = false;
let graceMillis = 0;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (outlivesReaders) return;
  // `qrs executions list | head`: the reader has seen enough, which is no failure of ours.
  if (error.code === 'EPIPE') process.exit(0);
  process.stderr.write(`error: cannot write to standard output: ${error.message}\n`, () => process.exit(1));
});
// What is said there is lost; what the command does is not.
process.stderr.on('error', () => undefined);

process.exitCode = await runCommand(process.argv.slice(2), {
  version: packageVersion(),
  stdout: output(process.stdout),
  stderr: output(process.stderr),
  stdin: () => process.stdin,
  environment: process.env,
  readFile: readFileIfThere,
  machineBytes: machineMemory(),
  clock: Date.now,
  randomBytes,
  monotonic: () => performance.now(),
  startTimer: (callback, millis) => setTimeout(callback, millis),
  threadCpuMicros: () => {
    const { user, system } = process.threadCpuUsage();
    return user + system;
  },
  random: Math.random,
  owner: currentLeaseOwner(),
  hostName: hostname(),
  newExecutionId: monotonicFactory(),
  sleep: (millis, signal) => wait(millis, undefined, { signal }),
  outliveReaders: () => {
    outlivesReaders = true;
  },
  allowGrace: (millis) => {
    graceMillis = millis;
  },
  workers: {
    supervisor: async () => (await import('./workers/cluster.ts')).supervisorChannel(process),
    forkWith: async (args) => (await import('./workers/cluster.ts')).forkWith(args),
  },
  priority: { eventLoopFirst: letEventLoopFirst, serviceFirst: letServiceFirst },
  signal: interruption.signal,
});
if (outlivesReaders) leave();
else process.stdout.write('', leave);

/** Ends a process that something keeps: a stream that nobody reads, a connection of a start that failed. */
function leave(): void {
  setTimeout(() => end(Number(process.exitCode)), LEAVE_MILLIS).unref();
}

/**
 * Ends the process whatever its threads are at. `process.exit` waits for them, and one may hang in a file that never answers, or plan a
 * statement for minutes, which DuckDB cannot be interrupted in. Becoming another program ends them all.
 */
function end(code: number): void {
  if (process.execve === undefined) process.kill(process.pid, 'SIGKILL');
  else process.execve(process.execPath, [process.execPath, '-e', `process.exit(${code})`], {});
}

function interrupt(why: string): void {
  if (interruption.signal.aborted) return;
  interruptedAt = performance.now();
  interruption.abort(new Error(`interrupted (${why})`));
  setTimeout(() => end(1), graceMillis + STOP_MILLIS).unref();
}

/**
 * Nobody can stop a process whose parent is gone if the parent was all that its user knew: bin/qrs.js, which a channel leads to
 * where it could not become this process; or the shell of npm, which npm ends without telling what runs in it.
 */
function followParent(): void {
  process.channel?.unref();
  process.once('disconnect', () => interrupt('its parent ended'));
  if (process.env.npm_execpath === undefined || process.channel !== undefined) return;
  const parent = process.ppid;
  const poll = setInterval(() => {
    if (process.ppid !== parent) interrupt('its parent ended');
  }, PARENT_POLL_MILLIS);
  poll.unref();
}

function output(stream: NodeJS.WriteStream): Output {
  return {
    write: (text, done) => stream.write(text, done),
    isTerminal: stream.isTTY === true,
    columns: stream.columns,
  };
}

function packageVersion(): string {
  const text = readFileSync(join(import.meta.dirname, '..', 'package.json'), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}
