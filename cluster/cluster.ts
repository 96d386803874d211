/** A whole service of several machines on this one: the servers that replicas share, the replicas, and a proxy in front of them. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Front, startFront } from './front/front.ts';
import { QRS, Replica } from './replica.ts';
import { type SharedServer, startServers } from './servers.ts';

/** Each knows a dead replica's work as free after so many seconds. */
const SETTINGS = {
  QRS_LOG_LEVEL: 'warn',
  QRS_LEASE_SECONDS: '3',
};

export interface ClusterOptions {
  readonly replicas: number;
  /** Settings of all replicas. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Whether the first replica fills the cluster with the demo. */
  readonly demo?: boolean;
  /** Whether queries run on Trino. */
  readonly trino?: boolean;
  /** Told of each step. */
  readonly tell?: (line: string) => void;
}

export class Cluster implements AsyncDisposable {
  readonly folder: string;
  readonly servers: readonly SharedServer[];
  readonly replicas: readonly Replica[];
  readonly front: Front;
  readonly #environment: NodeJS.ProcessEnv;

  private constructor(
    folder: string,
    environment: NodeJS.ProcessEnv,
    parts: Pick<Cluster, 'servers' | 'replicas' | 'front'>,
  ) {
    this.folder = folder;
    this.#environment = environment;
    this.servers = parts.servers;
    this.replicas = parts.replicas;
    this.front = parts.front;
  }

  /** Stops what it has started when anything fails. @param prepare what is done before the first replica starts, in the cluster's folder */
  static async start(options: ClusterOptions): Promise<Cluster> {
    const { tell = () => undefined, settings = {} } = options;
    await using stack = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), 'qrs-cluster-'));
    stack.defer(async () => await rm(folder, { recursive: true, force: true, maxRetries: 20 }));
    const { trino = false } = options;
    tell(`starting PostgreSQL, the S3 server${trino ? ', Trino' : ''}`);
    const servers = await startServers({ trino });
    for (const server of servers) stack.use(server);
    const environment = {
      ...withoutSettings(process.env),
      ...SETTINGS,
      QRS_SOURCES_DIR: join(folder, 'sources'),
      ...Object.assign({}, ...servers.map((server) => server.environment)),
      ...settings,
    };
    if (options.demo === true) {
      tell('writing source tables');
      await command(environment, folder, ['demo-sources', join(folder, 'sources'), '--size', 'small']);
    }
    const replicas: Replica[] = [];
    stack.defer(async () => void (await Promise.all(replicas.map((replica) => replica.stop()))));
    for (let number = 1; number <= options.replicas; number += 1) {
      const isFilling = options.demo === true && number === 1;
      tell(isFilling ? 'starting replica-1, which publishes the demo' : `starting replica-${number}`);
      const given = { name: `replica-${number}`, folder, environment };
      replicas.push(await Replica.start(given, isFilling ? ['--demo'] : []));
    }
    const front = stack.use(
      await startFront(
        replicas.map(({ port }) => port),
        folder,
      ),
    );
    const cluster = new Cluster(folder, environment, { servers, replicas, front });
    cluster.#started = stack.move();
    return cluster;
  }

  #started = new AsyncDisposableStack();

  /** Runs a command of `qrs` beside the replicas. @returns what it printed */
  async qrs(...args: readonly string[]): Promise<string> {
    return await command(this.#environment, this.folder, args);
  }

  /** Stops all, the last started first, and removes what they kept. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#started[Symbol.asyncDispose]();
  }
}

function withoutSettings(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('QRS_')));
}

async function command(env: NodeJS.ProcessEnv, folder: string, args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [QRS, ...args], {
    cwd: folder,
    env: { ...env, QRS_DATA_DIR: join(folder, 'commands') },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [output, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (code !== 0) throw new Error(`qrs ${args.join(' ')} exited with ${code}: ${errors.trim()}`);
  return output.trim();
}
