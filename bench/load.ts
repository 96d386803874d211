/** Requests per second and how long each takes, as seen by a client in a process of its own (load-generator.ts). */
import { spawn } from 'node:child_process';
import { join } from 'node:path';

export interface LoadOptions {
  /** Scheme, host and port. */
  readonly url: string;
  /** Path and query; `OFFSET` in it stands for another number each time. */
  readonly path: string;
  readonly firstOffset: number;
  readonly offsetStep: number;
  /** Numbers start again before they reach it. */
  readonly offsetModulo: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly connections: number;
  readonly warmUpMillis: number;
  readonly millis: number;
}

export interface Load {
  readonly perSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly requests: number;
  readonly megabytesPerSecond: number;
  /** How many answers had which status, those of the warm-up among them. */
  readonly statuses: Readonly<Record<string, number>>;
}

/** An answer that never comes ends the measurement. */
const PATIENCE_MILLIS = 90_000;

const DEFAULTS = {
  firstOffset: 0,
  offsetStep: 0,
  offsetModulo: Number.MAX_SAFE_INTEGER,
  connections: 8,
  warmUpMillis: 1000,
  millis: 4000,
} as const;

/** @throws when any answer has another status than the one expected */
export async function load(
  asked: Pick<LoadOptions, 'url' | 'path' | 'headers'> & Partial<LoadOptions>,
  expected = '200',
): Promise<Load> {
  const options: LoadOptions = { ...DEFAULTS, ...asked };
  const child = spawn(process.execPath, [join(import.meta.dirname, 'load-generator.ts'), JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: options.warmUpMillis + options.millis + PATIENCE_MILLIS,
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(`the load generator ended with ${code}`);
  const result = JSON.parse(output) as Load;
  const others = Object.entries(result.statuses).filter(([status]) => status !== expected);
  if (others.length > 0)
    throw new Error(`answers other than ${expected}: ${JSON.stringify(Object.fromEntries(others))}`);
  return result;
}
