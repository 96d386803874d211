/** The service under the soak: a process of its own on a new data directory, driven through the command and HTTP as a user would. */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const QRS = join(import.meta.dirname, '..', 'bin', 'qrs.js');

/** Runs expire after four minutes, so that the sweep, each minute, has something to do. */
const SETTINGS = {
  QRS_PORT: '0',
  QRS_LOG_LEVEL: 'warn',
  QRS_RETENTION_DAYS: '0.0028',
  QRS_SWEEP_SCHEDULE: '* * * * *',
  QRS_DIRECT_ROWS: '20000',
  QRS_DATASETS_KEEP: '3',
};

export class Soaked {
  readonly url: string;
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #environment: NodeJS.ProcessEnv;

  private constructor(child: ChildProcess, url: string, environment: NodeJS.ProcessEnv) {
    this.#child = child;
    this.url = url;
    this.pid = child.pid ?? 0;
    this.#environment = environment;
  }

  /** @param memory the value of QRS_MEMORY */
  static async start(dataDir: string, memory: string): Promise<Soaked> {
    const environment = { ...process.env, ...SETTINGS, QRS_DATA_DIR: dataDir, QRS_MEMORY: memory };
    await command(environment, ['demo-sources', join(dataDir, 'sources'), '--size', 'small']);
    const child = spawn(process.execPath, [QRS, 'serve'], { env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
    for await (const url of createInterface({ input: child.stdout })) return new Soaked(child, url, environment);
    throw new Error(`the service ended before it listened, with ${child.exitCode}`);
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Runs a command beside the service. @returns what it printed */
  async qrs(args: readonly string[], input: Iterable<string> = []): Promise<string> {
    return await command(this.#environment, args, input);
  }

  /** @returns its exit code */
  async stop(): Promise<number | null> {
    if (!this.isRunning) return this.#child.exitCode;
    const exited = new Promise<number | null>((resolve) => this.#child.once('exit', resolve));
    this.#child.kill('SIGTERM');
    return await exited;
  }
}

async function command(env: NodeJS.ProcessEnv, args: readonly string[], input: Iterable<string> = []): Promise<string> {
  const child = spawn(process.execPath, [QRS, ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  let [output, errors] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
  // A command that fails before it has read its input says why.
  await pipeline(Readable.from(input), child.stdin).catch(() => undefined);
  const code = await closed;
  if (code !== 0) throw new Error(`qrs ${args.join(' ')} exited with ${code}: ${errors.trim()}`);
  return output.trim();
}
