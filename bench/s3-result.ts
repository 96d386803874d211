/**
 * A result of so many of the benchmarks' rows in a bucket of an S3 server, and the settings of services that read it, each on this data
 * directory. The bucket is kept between runs, as all that the benchmarks publish.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { S3_ENVIRONMENT, S3Server } from '../test/s3-server.ts';
import { DATA, LAYOUT, qrs, sourceFile } from './service.ts';

export interface S3Result extends AsyncDisposable {
  readonly execution: string;
  readonly key: string;
  readonly endpoint: string;
  /** Where the objects are, as files. */
  readonly folder: string;
  /** The data directory of services that read it, one at a time. */
  readonly dataDir: string;
  /** The settings of a service that reads it. @param endpoint of a relay before the server, where there is one */
  environment(endpoint?: string): NodeJS.ProcessEnv;
}

/** Starts a server that has the result. @param publishing further settings of the command that publishes it, the first time */
export async function openS3Result(rows: number, publishing: NodeJS.ProcessEnv = {}): Promise<S3Result> {
  const kept = join(DATA, `s3-${LAYOUT}-${rows}`);
  const server = await S3Server.start(kept);
  const dataDir = join(kept, 'data');
  const environment = (endpoint = server.endpoint) => ({
    ...S3_ENVIRONMENT,
    QRS_DATA_DIR: dataDir,
    QRS_STORE_URL: `s3://${server.bucket}/bench?endpoint=${endpoint}`,
  });
  const note = join(kept, 'published.json');
  if (!existsSync(note)) {
    writeFileSync(note, JSON.stringify(await publish(rows, { ...environment(), ...publishing })));
  }
  // What services have made of the result in earlier runs.
  rmSync(join(dataDir, 'derived'), { recursive: true, force: true });
  const { execution, key } = JSON.parse(readFileSync(note, 'utf8')) as { execution: string; key: string };
  return {
    execution,
    key,
    dataDir,
    endpoint: server.endpoint,
    folder: join(server.bucketFolder, 'bench', execution),
    environment,
    [Symbol.asyncDispose]: async () => await server[Symbol.asyncDispose](),
  };
}

async function publish(rows: number, environment: NodeJS.ProcessEnv) {
  await qrs(['users', 'add', 'bench'], environment);
  const key = await qrs(['keys', 'create', '--user', 'bench'], environment);
  await qrs(['queries', 'add', '--id', '1', '--user', 'bench'], environment);
  return { key, execution: await qrs(['publish', await sourceFile(rows), '--query', '1'], environment) };
}
