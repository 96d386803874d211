/** Runs commands inside the test's own process, on a data directory and a clock of the test's. */
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { monotonicFactory } from 'ulid';
import { type ExitCode, runCommand } from '../../src/cli/run-command.ts';
import type { Sleep } from '../../src/domain/time.ts';
import type { RandomBytes } from '../../src/keys/create-key.ts';
import { newTestSchema } from '../postgres-server.ts';
import { newTestStore } from '../s3-server.ts';

export interface Outcome {
  readonly code: ExitCode;
  readonly out: string;
  readonly err: string;
}

export interface CommandLine {
  readonly directory: string;
  readonly dataDir: string;
  /** Where its catalog is, where that is not the data directory. */
  readonly catalog: Readonly<Record<string, string>>;
  /** Milliseconds since 1970. Only the test moves it. */
  now: number;
  /** Waits as long as it is asked to, unless a test has it wait less. */
  sleep: Sleep;
  /** What ids and keys are made of: other bytes each time, the same in each run. */
  readonly randomBytes: RandomBytes;
  /** Runs `qrs` with these arguments; `input` is its standard input. */
  run(args: readonly string[], input?: string): Promise<Outcome>;
  /** As `run`, with standard output and standard error as terminals. */
  onTerminal(...args: readonly string[]): Promise<Outcome>;
  /** The width of the terminals in characters; very wide unless a test sets it. */
  columns: number | undefined;
  /** Runs the command, and fails the test unless its exit code is 0. @returns standard output without the last line break */
  get(...args: readonly string[]): Promise<string>;
}

/** 2024-03-05T20:50:59.123Z */
const NOON = 1_709_671_859_123;

type Environment = Readonly<Record<string, string>>;

/** @param given more settings, or a function that makes them for the test's folder */
export async function makeCommandLine(
  t: TestContext,
  given: Environment | ((directory: string) => Environment) = {},
): Promise<CommandLine> {
  const directory = await mkdtemp(join(tmpdir(), 'qrs-command-'));
  // A service on the folder may still be writing derived files.
  t.after(async () => await rm(directory, { recursive: true, force: true, maxRetries: 20 }));
  const environment = typeof given === 'function' ? given(directory) : given;
  const dataDir = join(directory, 'data');
  const catalogUrl = await newTestSchema();
  const storeUrl = newTestStore();
  // Where the tests have theirs on servers.
  const catalog = {
    ...(catalogUrl !== undefined && { QRS_CATALOG_URL: catalogUrl, QRS_CATALOG_STALENESS: '0.001' }),
    ...(storeUrl !== undefined && { QRS_STORE_URL: storeUrl }),
  };
  const newExecutionId = monotonicFactory();
  let seed = 0;
  const randomBytes = (length: number) => {
    seed += 1;
    return new Uint8Array(length).fill(seed);
  };
  const runOn = async (isTerminal: boolean, args: readonly string[], input: string): Promise<Outcome> => {
    let out = '';
    let err = '';
    const code = await runCommand(args, {
      version: '1.2.3',
      stdout: {
        isTerminal,
        columns: commandLine.columns,
        write: (text, done) => {
          out += text;
          done?.();
        },
      },
      stderr: {
        isTerminal,
        write: (text, done) => {
          err += text;
          done?.();
        },
      },
      stdin: () => Readable.from([Buffer.from(input)]),
      environment: { QRS_DATA_DIR: dataDir, ...catalog, ...environment },
      readFile: (path) => (existsSync(join(directory, path)) ? readFileSync(join(directory, path), 'utf8') : undefined),
      clock: () => commandLine.now,
      randomBytes,
      monotonic: () => 0,
      threadCpuMicros: () => 0,
      startTimer: () => ({ refresh: () => undefined, close: () => undefined }),
      hostName: 'test',
      random: () => 0.5,
      owner: 'test',
      newExecutionId,
      sleep: commandLine.sleep,
      outliveReaders: () => undefined,
      allowGrace: () => undefined,
      priority: { eventLoopFirst: () => undefined, serviceFirst: () => undefined },
      workers: {
        supervisor: async () => undefined,
        forkWith: async () => Promise.reject(new Error('no workers here')),
      },
      signal: t.signal,
    });
    return { code, out, err };
  };
  const commandLine: CommandLine = {
    directory,
    dataDir,
    catalog,
    now: NOON,
    sleep: (millis, signal) => wait(millis, undefined, { signal }),
    randomBytes,
    columns: undefined,
    run: async (args, input = '') => await runOn(false, args, input),
    onTerminal: async (...args) => await runOn(true, args, ''),
    async get(...args) {
      const { code, out, err } = await commandLine.run(args);
      if (code !== 0) throw new Error(`qrs ${args.join(' ')} ended with ${code}: ${err}`);
      return out.replace(/\n$/, '');
    },
  };
  return commandLine;
}
