/** Two replicas of the service: processes with a data directory each, which share the catalog in PostgreSQL and the store. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import type { PostgresServer } from '../postgres-server.ts';
import { withoutSettings } from '../without-settings.ts';

const QRS = join(import.meta.dirname, '../../bin/qrs.js');
export const STALENESS_MILLIS = 500;

export interface Replica {
  readonly url: string;
  readonly child: ChildProcess;
  /** The lines of its log so far. */
  readonly log: readonly string[];
  /** The rows of query 7 for the key: its status and body. */
  rows(key: string): Promise<{ readonly status: number; readonly body: Record<string, unknown> }>;
}

interface Replicas {
  readonly replicas: readonly Replica[];
  readonly key: string;
  run(...args: readonly string[]): string;
  publish(csv: string): void;
}

/** @param settings more settings of both */
export async function startTwo(
  t: TestContext,
  server: PostgresServer,
  settings: Readonly<Record<string, string>> = {},
): Promise<Replicas> {
  const folder = await mkdtemp(join(tmpdir(), 'qrs-replicas-'));
  const env = {
    ...withoutSettings(),
    QRS_PORT: '0',
    QRS_CATALOG_URL: await server.newSchema(),
    QRS_CATALOG_STALENESS: `${STALENESS_MILLIS}ms`,
    QRS_STORE_URL: `file:${join(folder, 'store')}`,
    ...settings,
  };
  const run = (args: readonly string[], input = '') =>
    execFileSync(process.execPath, [QRS, ...args], {
      cwd: folder,
      env: { ...env, QRS_DATA_DIR: join(folder, 'commands') },
      encoding: 'utf8',
      input,
      stdio: ['pipe', 'pipe', 'pipe'],
    }).trimEnd();
  run(['users', 'add', 'ann']);
  const key = run(['keys', 'create', '--user', 'ann']);
  run(['queries', 'add', '--id', '7', '--user', 'ann']);
  const publish = (csv: string) => void run(['publish', '-', '--query', '7', '--format', 'csv'], csv);
  publish('n\n1\n');
  const replicas = await Promise.all(
    ['a', 'b'].map(async (name) => {
      const child = spawn(process.execPath, [QRS, 'serve'], {
        cwd: folder,
        env: { ...env, QRS_DATA_DIR: join(folder, name), QRS_REPLICA_NAME: `web-${name}` },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      t.after(() => child.kill('SIGKILL'));
      const log: string[] = [];
      createInterface(child.stderr).on('line', (line) => log.push(line));
      const [url] = (await once(createInterface(child.stdout), 'line')) as [string];
      return { url, child, log, rows: async (held: string) => await rowsOf(url, held) };
    }),
  );
  t.after(async () => await rm(folder, { recursive: true, force: true, maxRetries: 20 }));
  return { replicas, key, run: (...args) => run(args), publish };
}

async function rowsOf(url: string, key: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const answer = await fetch(`${url}/v1/query/7/results`, { headers: { 'x-service-api-key': key } });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

export function rowsIn(body: Record<string, unknown>): readonly Record<string, unknown>[] {
  return (body.result as { rows: readonly Record<string, unknown>[] }).rows;
}
