/**
 * A Trino for tests, on a free port of this machine, over folders of Parquet: its catalog `sources` (the Hive connector with a metastore of
 * files). It comes from `scripts/trino.ts`, takes some 27 CPU seconds to start and 1 to 2 GB of memory.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { pbkdf2Sync, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { trinoPrograms } from '../scripts/trino.ts';
import { makeCertificate, NO_OPENSSL } from './certificate.ts';
import { freePort } from './free-port.ts';
import { killProcess } from './kill-process.ts';

/** What a test is skipped with where there is no Trino to be had; undefined where there is. */
export const TRINO_MISSING =
  trinoPrograms() === undefined ? 'no Trino is here: npm run setup:trino fetches one (490 MB)' : undefined;

export const TRINO_CATALOG = 'sources';
/** The one who may come in over TLS. */
export const TRINO_USER = 'qrs';
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

interface Ports {
  readonly http: number;
  readonly https: number;
}

/** How one gets in over TLS, as `TRINO_USER`. */
export interface TrinoAccess {
  readonly port: number;
  /** PEM: its certificate, which is signed by itself. */
  readonly caFile: string;
  readonly password: string;
  /** In base64: what tokens are signed with (HS256). */
  readonly tokenKey: string;
}

export class TrinoServer implements AsyncDisposable {
  readonly origin: string;
  /** The same over TLS, where it asks who is there. */
  readonly access: TrinoAccess;
  /** Tables lie in folders of it: `local:///tables/…` to Trino. */
  readonly tables: string;
  readonly #folder: string;
  #process: ChildProcess | undefined;

  private constructor(folder: string, { http, https }: Ports) {
    this.#folder = folder;
    this.origin = `http://127.0.0.1:${http}`;
    this.access = {
      port: https,
      caFile: join(folder, 'cert.pem'),
      password: randomBytes(12).toString('base64'),
      tokenKey: randomBytes(32).toString('base64'),
    };
    this.tables = join(folder, 'lake', 'tables');
  }

  static async start(spool?: SpoolBucket): Promise<TrinoServer> {
    const folder = mkdtempSync(join(tmpdir(), 'qrs-trino-'));
    const ports = { http: await freePort(), https: await freePort() };
    const server = new TrinoServer(folder, ports);
    mkdirSync(server.tables, { recursive: true });
    for (const [path, lines] of Object.entries(configuration(folder, ports, server.access, spool))) {
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
  { http, https }: Ports,
  access: TrinoAccess,
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
      `http-server.http.port=${http}`,
      `discovery.uri=http://127.0.0.1:${http}`,
      ...accessLines(folder, https),
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
    'password-authenticator.properties': [
      'password-authenticator.name=file',
      `file.password-file=${join(folder, 'etc', 'passwords')}`,
    ],
    passwords: [`${TRINO_USER}:${hashed(access.password)}`],
    'token.key': [access.tokenKey],
    'tls.pem': certificateLines(folder),
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

/** Over plain HTTP anybody may come in under any name, as most tests do. */
function accessLines(folder: string, port: number): readonly string[] {
  if (NO_OPENSSL !== undefined) return [];
  return [
    'http-server.https.enabled=true',
    `http-server.https.port=${port}`,
    `http-server.https.keystore.path=${join(folder, 'etc', 'tls.pem')}`,
    'http-server.authentication.type=PASSWORD,JWT',
    'http-server.authentication.allow-insecure-over-http=true',
    `http-server.authentication.jwt.key-file=${join(folder, 'etc', 'token.key')}`,
    `internal-communication.shared-secret=${randomBytes(32).toString('base64')}`,
  ];
}

function certificateLines(folder: string): readonly string[] {
  if (NO_OPENSSL !== undefined) return [];
  const { key, cert } = makeCertificate(folder);
  return [key, cert];
}

/** As Trino's file of passwords has it: PBKDF2 with HMAC-SHA1. */
function hashed(password: string): string {
  const [iterations, salt] = [10_000, randomBytes(16)];
  return `${iterations}:${salt.toString('hex')}:${pbkdf2Sync(password, salt, iterations, 32, 'sha1').toString('hex')}`;
}
