/**
 * One replica: `qrs serve` on a port and a data directory of its own, in a process group of its own, so that a kill takes its children with
 * it, as a power cut takes a machine. Where the system allows it, it also has a host name of its own. Then no replica can look up whether
 * another still lives, and a lease has to run out.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from '../test/free-port.ts';

export const QRS = join(import.meta.dirname, '..', 'bin', 'qrs.js');
const STOP_MILLIS_MAX = 45_000;

export interface ReplicaOptions {
  readonly name: string;
  /** Its data directory and its log are in it. */
  readonly folder: string;
  readonly environment: NodeJS.ProcessEnv;
  /** The command of another release, where it is not ours. */
  readonly program?: string;
}

export class Replica {
  readonly name: string;
  readonly port: number;
  /** Of its log: a file that each of its lives adds to. */
  readonly logPath: string;
  readonly #options: ReplicaOptions;
  #child: ChildProcess | undefined;

  private constructor(options: ReplicaOptions, port: number) {
    this.#options = options;
    this.name = options.name;
    this.port = port;
    this.logPath = join(options.folder, `${options.name}.log`);
  }

  /** Resolves when it listens. @param args of `qrs serve` */
  static async start(options: ReplicaOptions, args: readonly string[] = []): Promise<Replica> {
    const replica = new Replica(options, await freePort());
    await replica.resume(args);
    return replica;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** Starts it again, on the same port and data directory. */
  async resume(args: readonly string[] = []): Promise<void> {
    const { name, folder, environment, program = QRS } = this.#options;
    const [started = '', ...given] = onHostOfItsOwn(name, [process.execPath, program, 'serve', ...args]);
    const child = spawn(started, given, {
      cwd: folder,
      env: { ...environment, QRS_DATA_DIR: join(folder, name), QRS_PORT: String(this.port) },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    this.#child = child;
    child.stderr.pipe(createWriteStream(this.logPath, { flags: 'a' }));
    for await (const _ of createInterface({ input: child.stdout })) {
      child.stdout.resume();
      return;
    }
    throw new Error(`${name} ended before it listened: ${(await this.logLines()).at(-1) ?? ''}`);
  }

  /** Ends it and its children, with no time for anything. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Asks it to stop, and ends it by force when it takes too long. */
  async stop(): Promise<void> {
    const timer = setTimeout(() => void this.#end('SIGKILL'), STOP_MILLIS_MAX);
    try {
      await this.#end('SIGTERM');
    } finally {
      clearTimeout(timer);
    }
  }

  async logLines(): Promise<readonly string[]> {
    const text = await readFile(this.logPath, 'utf8').catch(() => '');
    return text.split('\n').filter((line) => line !== '');
  }

  async #end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    // Asked to stop, it tells its children itself.
    if (signal === 'SIGTERM') child.kill(signal);
    else process.kill(-child.pid, signal);
    await exited;
  }
}

let canNameHosts: boolean | undefined;

/** The command line, under a host name of its own where this user may give one (Linux, by a namespace). */
function onHostOfItsOwn(name: string, command: readonly string[]): readonly string[] {
  const named = (script: string) => ['unshare', '--uts', 'sh', '-c', `hostname "$0" && ${script}`, name];
  const [program = '', ...probe] = named('true');
  canNameHosts ??= spawnSync(program, probe, { stdio: 'ignore' }).status === 0;
  return canNameHosts ? [...named('exec "$@"'), ...command] : command;
}
