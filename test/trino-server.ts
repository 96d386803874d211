/**
 * A Trino for tests, on a free port of this machine, over folders of Parquet: its catalog `sources` (the Hive connector with a metastore of
 * files). It comes from `scripts/trino.ts`, takes some 27 CPU seconds to start and 1 to 2 GB of memory.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { trinoPrograms } from '../scripts/trino.ts';
import { freePort } from './free-port.ts';
import { killProcess } from './kill-process.ts';

/** What a test is skipped with where there is no Trino to be had; undefined where there is. */
export const TRINO_MISSING =
  trinoPrograms() === undefined ? 'no Trino is here: npm run setup:trino fetches one (490 MB)' : undefined;

export const TRINO_CATALOG = 'sources';
const START_MILLIS = 240_000;
const SAID_CHARS_MAX = 4000;

/** Where a Trino may put the segments of results. */
export interface SpoolBucket {
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  readonly accessKey: string;
  readonly secretKey: string;
}

export class TrinoServer implements AsyncDisposable {
  readonly origin: string;
  /** Tables lie in folders of it: `local:///tables/…` to Trino. */
  readonly tables: string;
  readonly #folder: string;
  #process: ChildProcess | undefined;

  private constructor(folder: string, port: number) {
    this.#folder = folder;
    this.origin = `http://127.0.0.1:${port}`;
    this.tables = join(folder, 'lake', 'tables');
  }

  static async start(spool?: SpoolBucket): Promise<TrinoServer> {
    const folder = mkdtempSync(join(tmpdir(), 'qrs-trino-'));
    const port = await freePort();
    const server = new TrinoServer(folder, port);
    mkdirSync(server.tables, { recursive: true });
    for (const [path, lines] of Object.entries(configuration(folder, port, spool))) {
      const file = join(folder, 'etc', path);
      mkdirSync(join(file, '..'), { recursive: true });
      writeFileSync(file, `${lines.join('\n')}\n`);
    }
    try {
      await server.resume();
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
    return server;
  }

  /** Of its first process. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Starts it again on the same data and port, and resolves when it runs queries. */
  async resume(): Promise<void> {
    const programs = trinoPrograms();
    if (programs === undefined) throw new Error(TRINO_MISSING);
    let said = '';
    const child = spawn(join(programs.server, 'bin', 'launcher'), ['run', `--etc-dir=${join(this.#folder, 'etc')}`], {
      env: { PATH: `${join(programs.javaHome, 'bin')}:${process.env.PATH}`, JAVA_HOME: programs.javaHome },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        said = (said + chunk.toString()).slice(-SAID_CHARS_MAX);
      });
    }
    this.#process = child;
    for (const until = Date.now() + START_MILLIS; !(await this.#isReady()); await wait(500)) {
      if (child.exitCode !== null || Date.now() > until) throw new Error(`Trino did not start: ${said}`);
    }
  }

  async #isReady(): Promise<boolean> {
    try {
      await runStatement(this.origin, 'SELECT 1 FROM system.runtime.nodes');
      return true;
    } catch {
      return false;
    }
  }

  async kill(): Promise<void> {
    await killProcess(this.#process);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Runs a statement that sets something up, to its end. */
export async function runStatement(origin: string, sql: string): Promise<void> {
  const headers = { 'X-Trino-User': 'setup', 'X-Trino-Catalog': TRINO_CATALOG, 'X-Trino-Time-Zone': 'UTC' };
  let answer = await fetch(`${origin}/v1/statement`, { method: 'POST', body: sql, headers });
  for (;;) {
    if (!answer.ok) throw new Error(`Trino answered ${answer.status}: ${await answer.text()}`);
    const { nextUri, error } = (await answer.json()) as { nextUri?: string; error?: { message: string } };
    if (error !== undefined) throw new Error(`${error.message}\n${sql}`);
    if (nextUri === undefined) return;
    answer = await fetch(nextUri, { headers });
  }
}

/** Files below `etc`, by their paths. */
function configuration(
  folder: string,
  port: number,
  spool: SpoolBucket | undefined,
): Readonly<Record<string, readonly string[]>> {
  return {
    'node.properties': [
      'node.environment=test',
      'node.id=test',
      'node.bind-ip=127.0.0.1',
      'node.internal-address=127.0.0.1',
      `node.data-dir=${join(folder, 'data')}`,
    ],
    'jvm.config': [
      '-Xmx1G',
      // Half the CPU time to start, and tests run each query once.
      '-XX:TieredStopAtLevel=1',
      '-XX:+UseSerialGC',
      '-Djdk.attach.allowAttachSelf=true',
    ],
    'log.properties': ['io.trino=WARN'],
    'config.properties': [
      'coordinator=true',
      'node-scheduler.include-coordinator=true',
      `http-server.http.port=${port}`,
      `discovery.uri=http://127.0.0.1:${port}`,
      'query.max-memory-per-node=400MB',
      'memory.heap-headroom-per-node=200MB',
      'catalog.management=static',
      ...(spool === undefined
        ? []
        : [
            'protocol.spooling.enabled=true',
            `protocol.spooling.shared-secret-key=${randomBytes(32).toString('base64')}`,
          ]),
    ],
    ...(spool !== undefined && {
      'spooling-manager.properties': [
        'spooling-manager.name=filesystem',
        `fs.location=s3://${spool.bucket}/spool/`,
        'fs.s3.enabled=true',
        `s3.endpoint=${spool.endpoint}`,
        `s3.region=${spool.region}`,
        's3.path-style-access=true',
        `s3.aws-access-key=${spool.accessKey}`,
        `s3.aws-secret-key=${spool.secretKey}`,
      ],
    }),
    [`catalog/${TRINO_CATALOG}.properties`]: [
      'connector.name=hive',
      'hive.metastore=file',
      'hive.metastore.catalog.dir=local:///metastore',
      'fs.native-local.enabled=true',
      `local.location=${join(folder, 'lake')}`,
      'hive.security=allow-all',
    ],
  };
}
