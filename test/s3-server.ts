/** An S3 server for tests, on a free port of this machine: its buckets are folders. It comes from `scripts/versitygw.ts`. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { versitygw } from '../scripts/versitygw.ts';
import { freePort } from './free-port.ts';
import { killProcess } from './kill-process.ts';

/** What a test is skipped with where there is no server to be had; undefined where there is. */
export const S3_MISSING =
  versitygw() === undefined ? 'no S3 server is here: npm run setup:s3 builds one, with Go' : undefined;

/** What a client of it needs in its environment. */
export const S3_ENVIRONMENT = {
  AWS_ACCESS_KEY_ID: 'qrs',
  AWS_SECRET_ACCESS_KEY: 'only-for-tests',
  AWS_REGION: 'us-east-1',
} as const;

const BUCKET = 'results';

/** What a test that looks into the folder of results is skipped with where the tests have theirs in S3. */
export const NO_RESULTS_FOLDER =
  process.env.TEST_S3_ENDPOINT === undefined ? false : 'it looks into the folder of results';

/** A store of its own on the server that the tests were given; undefined where they have theirs in folders. */
export function newTestStore(): string | undefined {
  const endpoint = process.env.TEST_S3_ENDPOINT;
  return endpoint === undefined ? undefined : `s3://${BUCKET}/${randomUUID()}?endpoint=${endpoint}`;
}

export class S3Server implements AsyncDisposable {
  readonly endpoint: string;
  /** Where the objects of the bucket are, as files. */
  readonly bucketFolder: string;
  readonly bucket = BUCKET;
  readonly #folder: string;
  readonly #isKept: boolean;
  readonly #port: number;
  #process: ChildProcess | undefined;

  private constructor(folder: string, isKept: boolean, port: number) {
    this.#folder = folder;
    this.#isKept = isKept;
    this.#port = port;
    this.endpoint = `http://127.0.0.1:${port}`;
    this.bucketFolder = join(folder, 'buckets', BUCKET);
  }

  /** @param kept where its buckets are, and stay; without it they are in a folder that goes with the server */
  static async start(kept?: string): Promise<S3Server> {
    const folder = kept ?? mkdtempSync(join(tmpdir(), 'qrs-s3-'));
    const server = new S3Server(folder, kept !== undefined, await freePort());
    mkdirSync(server.bucketFolder, { recursive: true });
    await server.resume();
    return server;
  }

  /** Of its first process. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Starts it again on the same data and port. */
  async resume(): Promise<void> {
    const access = ['--access', S3_ENVIRONMENT.AWS_ACCESS_KEY_ID, '--secret', S3_ENVIRONMENT.AWS_SECRET_ACCESS_KEY];
    const options = [...access, '--port', `127.0.0.1:${this.#port}`, '--keep-alive', '--quiet'];
    this.#process = spawn(versitygw() ?? '', [...options, 'posix', join(this.#folder, 'buckets')], { stdio: 'ignore' });
    // It says nothing when it is ready.
    while (!(await answers(this.#port))) await wait(10);
  }

  async kill(): Promise<void> {
    await killProcess(this.#process);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    if (!this.#isKept) rmSync(this.#folder, { recursive: true, force: true });
  }
}

async function answers(port: number): Promise<boolean> {
  const socket = createConnection(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
