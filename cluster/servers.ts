/**
 * The servers that replicas share. Each is a process that may be killed and started again on the same data. What a cluster needs and this
 * machine does not have is told by name.
 */
import { VERSION as POSTGRES_VERSION, postgresPrograms } from '../scripts/postgres.ts';
import { VERSION as TRINO_VERSION } from '../scripts/trino.ts';
import { VERSION as S3_VERSION, versitygw } from '../scripts/versitygw.ts';
import { PostgresServer } from '../test/postgres-server.ts';
import { S3_ENVIRONMENT, S3Server } from '../test/s3-server.ts';
import { TRINO_CATALOG, TRINO_MISSING, TrinoServer } from '../test/trino-server.ts';

/** A server that the replicas need, and that may die. */
export interface SharedServer extends AsyncDisposable {
  readonly name: 'postgres' | 's3' | 'trino';
  /** For people: the program and its version. */
  readonly program: string;
  readonly address: string;
  /** Of its first process; undefined while it is dead. */
  pid(): number | undefined;
  /** By SIGKILL. */
  kill(): Promise<void>;
  /** On the same data and port; resolves when it takes connections. */
  resume(): Promise<void>;
  /** What replicas need in their environment to use it. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Which servers beside PostgreSQL and S3. */
export interface WantedServers {
  /** It takes half a minute of computing to start, and 1 to 2 GB of memory. */
  readonly trino: boolean;
}

/** What has to be installed first; empty where a cluster can be started. */
export function missingServers({ trino }: WantedServers = { trino: false }): readonly string[] {
  return [
    ...(trino && TRINO_MISSING !== undefined ? [TRINO_MISSING] : []),
    ...(postgresPrograms() === undefined ? ['PostgreSQL is not here: npm run setup:postgres fetches it'] : []),
    ...(versitygw() === undefined ? ['no S3 server is here: npm run setup:s3 builds one, with Go'] : []),
  ];
}

/** All that there are, started side by side. What has been started is stopped when one of them fails. */
export async function startServers({ trino }: WantedServers): Promise<readonly SharedServer[]> {
  const starting = [startPostgres(), startS3(), ...(trino ? [startTrino()] : [])];
  const outcomes = await Promise.allSettled(starting);
  const started = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed === undefined) return started;
  for (const server of started) await server[Symbol.asyncDispose]();
  throw failed.reason;
}

async function startPostgres(): Promise<SharedServer> {
  const server = await PostgresServer.start();
  return {
    name: 'postgres',
    program: `PostgreSQL ${POSTGRES_VERSION.split('-')[0]}`,
    address: server.address,
    pid: () => server.pid,
    kill: async () => await server.kill('SIGKILL'),
    resume: async () => await server.resume(),
    environment: { QRS_CATALOG_URL: server.address },
    [Symbol.asyncDispose]: async () => await server[Symbol.asyncDispose](),
  };
}

async function startS3(): Promise<SharedServer> {
  const server = await S3Server.start();
  return {
    name: 's3',
    program: `versitygw ${S3_VERSION}`,
    address: server.endpoint,
    pid: () => server.pid,
    kill: async () => await server.kill(),
    resume: async () => await server.resume(),
    environment: {
      ...S3_ENVIRONMENT,
      QRS_STORE_URL: `s3://${server.bucket}/cluster?endpoint=${server.endpoint}`,
    },
    [Symbol.asyncDispose]: async () => await server[Symbol.asyncDispose](),
  };
}

async function startTrino(): Promise<SharedServer> {
  const server = await TrinoServer.start();
  const { host } = new URL(server.origin);
  return {
    name: 'trino',
    program: `Trino ${TRINO_VERSION}`,
    address: server.origin,
    pid: () => server.pid,
    kill: async () => await server.kill(),
    resume: async () => await server.resume(),
    environment: { QRS_ENGINE_URL: `trino://cluster@${host}/${TRINO_CATALOG}` },
    [Symbol.asyncDispose]: async () => await server[Symbol.asyncDispose](),
  };
}
