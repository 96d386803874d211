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
/** The process ends this long after the command, whatever is still going on. */
const LEAVE_MILLIS = 3000;
/** How long an interrupted command may take to put things in order, unless it asks for more (`allowGrace`). */
const STOP_MILLIS = 10_000;
const PARENT_POLL_MILLIS = 500;

const interruption = new AbortController();
let interruptedAt = Number.NEGATIVE_INFINITY;
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => {
    const now = performance.now();
    // Whoever interrupts a second time does not want to wait for things to be put in order.
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
// A message that cannot be written is lost. The command goes on.
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

/** Ends the process even where something keeps it alive: a stream that nobody reads, a connection of a start that failed. */
function leave(): void {
  setTimeout(() => end(Number(process.exitCode)), LEAVE_MILLIS).unref();
}

/**
 * Ends the process, whatever its threads are doing. `process.exit` waits for them. One may hang in a file that never answers, or plan a
 * statement for minutes, in which DuckDB cannot be interrupted. Becoming another program ends them all.
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
 * Ends with the parent, where the parent is the process that the user knows: nobody could stop this one afterwards. Such a parent is
 * bin/qrs.js, where it could not become this process and keeps a channel to it; or npm's shell, which npm ends without telling us.
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
