/** A PostgreSQL server for tests, on a free port of this machine, with an empty database. Its programs come from `scripts/postgres.ts`. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { Client } from 'pg';
import { postgresPrograms } from '../scripts/postgres.ts';
import { freePort } from './free-port.ts';

/** "nobody": whom the server runs as where the tests run as root, which it refuses to. */
const NOBODY = 65_534;
const PASSWORD = 'only-for-tests';
const STARTS_MAX = 100;

/** What a test is skipped with where there is no server to be had; undefined where there is. */
export const POSTGRES_MISSING =
  postgresPrograms() === undefined ? 'PostgreSQL is not here: npm run setup:postgres fetches it' : undefined;

/** What a test that looks into the file of a catalog in SQLite is skipped with where the tests have theirs in PostgreSQL. */
export const NO_CATALOG_FILE =
  process.env.TEST_POSTGRES_URL === undefined ? false : 'it looks into the file of a catalog in SQLite';

export class PostgresServer implements AsyncDisposable {
  readonly port: number;
  readonly #folder: string;
  readonly #settings: Readonly<Record<string, string>>;
  #process: ChildProcess | undefined;

  private constructor(folder: string, port: number, settings: Readonly<Record<string, string>>) {
    this.#folder = folder;
    this.port = port;
    this.#settings = settings;
  }

  /** @param settings of the server, beside those that a test needs */
  static async start(settings: Readonly<Record<string, string>> = {}): Promise<PostgresServer> {
    const folder = mkdtempSync(join(tmpdir(), 'qrs-postgres-'));
    const passwordFile = join(folder, 'password');
    writeFileSync(passwordFile, PASSWORD);
    for (const path of [folder, passwordFile]) if (process.getuid?.() === 0) chownSync(path, NOBODY, NOBODY);
    const options = [
      '--username=qrs',
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--no-sync',
    ];
    execFileSync(program('initdb'), [`--pgdata=${join(folder, 'data')}`, '--no-locale', ...options], {
      stdio: 'pipe',
      ...asNobody(),
    });
    const server = new PostgresServer(folder, await freePort(), settings);
    await server.resume();
    return server;
  }

  /** Of its first process. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Starts it again on the same data and port. After a SIGKILL its processes need a moment to end, and it does not start before. */
  async resume(): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const lines = await this.#tryToStart();
      if (lines === undefined) return;
      const isHeld = lines.some((line) => /pre-existing shared memory block|lock file .* already exists/.test(line));
      if (!isHeld || attempt === STARTS_MAX) throw new Error(`PostgreSQL did not start: ${lines.join('\n')}`);
      await wait(50);
    }
  }

  /** What it said when it did not start; undefined when it did. */
  async #tryToStart(): Promise<readonly string[] | undefined> {
    const needed = { listen_addresses: '127.0.0.1', port: this.port, unix_socket_directories: '', fsync: 'off' };
    const given = Object.entries({ ...needed, ...this.#settings }).flatMap(([name, value]) => [
      '-c',
      `${name}=${value}`,
    ]);
    const child = spawn(program('postgres'), ['-D', join(this.#folder, 'data'), ...given], {
      stdio: ['ignore', 'ignore', 'pipe'],
      ...asNobody(),
    });
    this.#process = child;
    const lines: string[] = [];
    for await (const line of createInterface({ input: child.stderr })) {
      lines.push(line);
      if (line.includes('database system is ready to accept connections')) {
        child.stderr.resume();
        return undefined;
      }
    }
    return lines;
  }

  /** Ends it at once, with all its connections; by SIGKILL its processes notice that one after the other. */
  async kill(signal: NodeJS.Signals = 'SIGQUIT'): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }

  /** The address of a new, empty schema. */
  async newSchema(): Promise<string> {
    return await newSchemaAt(this.address);
  }

  /** Carries out SQL as the owner of the database. */
  async run<R extends object>(text: string, url: string = this.address): Promise<readonly R[]> {
    return await runAt(url, text);
  }

  get address(): string {
    return `postgres://qrs:${PASSWORD}@127.0.0.1:${this.port}/postgres`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** The address of an empty schema on the server that the tests are told to have their catalogs on; undefined when they are not. */
export async function newTestSchema(): Promise<string | undefined> {
  const server = process.env.TEST_POSTGRES_URL;
  return server === undefined ? undefined : await newSchemaAt(server);
}

async function newSchemaAt(server: string): Promise<string> {
  const schema = `s${randomUUID().replaceAll('-', '')}`;
  await runAt(server, `create schema ${schema}`);
  return `${server}?options=${encodeURIComponent(`-c search_path=${schema}`)}`;
}

async function runAt<R extends object>(url: string, text: string): Promise<readonly R[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<R>(text)).rows;
  } finally {
    await client.end();
  }
}

/** Lets the server read a file that only its owner may read. */
export function giveToServer(path: string): void {
  if (process.getuid?.() === 0) chownSync(path, NOBODY, NOBODY);
}

function program(name: string): string {
  return join(postgresPrograms() ?? '', name);
}

function asNobody(): { readonly uid?: number; readonly gid?: number } {
  return process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
}

/** What the catalogs in the schema of this URL take for the time, from now on. They must have been opened before. */
export async function setDatabaseClock(url: string, now: number): Promise<void> {
  await runAt(
    url,
    `create or replace function qrs_now() returns bigint language sql stable as 'select ${Math.round(now)}::bigint'`,
  );
}
