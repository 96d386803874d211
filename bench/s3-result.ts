/** A result of so many of the benchmarks' rows in a bucket of an S3 server, for services on data directories of their own. */
import { S3_ENVIRONMENT } from '../test/s3-server.ts';
import { qrs, sourceFile } from './service.ts';

export interface S3Result {
  readonly execution: string;
  readonly key: string;
  /** Of a service that reads it. */
  readonly environment: NodeJS.ProcessEnv;
}

/** @param more further settings of the service */
export async function publishToS3(
  rows: number,
  place: { readonly folder: string; readonly bucket: string; readonly endpoint: string },
  more: NodeJS.ProcessEnv = {},
): Promise<S3Result> {
  const environment = {
    ...S3_ENVIRONMENT,
    QRS_DATA_DIR: place.folder,
    QRS_STORE_URL: `s3://${place.bucket}/bench?endpoint=${place.endpoint}`,
    ...more,
  };
  await qrs(['users', 'add', 'bench'], environment);
  const key = await qrs(['keys', 'create', '--user', 'bench'], environment);
  await qrs(['queries', 'add', '--id', '1', '--user', 'bench'], environment);
  const execution = await qrs(['publish', await sourceFile(rows), '--query', '1'], environment);
  return { execution, key, environment };
}
