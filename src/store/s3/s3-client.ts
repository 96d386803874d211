/** The AWS SDK's client, with our limits. It finds the credentials and, unless it is given, the region. */
import { S3Client } from '@aws-sdk/client-s3';
import { repeatWithMendedClock } from './mended-clock.ts';
import { nameFailures } from './named-failures.ts';

/** How often the SDK tries a request: it repeats after failures, throttling, and connections that break before an answer. */
const ATTEMPTS_MAX = 4;
const CONNECT_MILLIS_MAX = 5000;
/** How long a connection may be silent. */
const SILENCE_MILLIS_MAX = 30_000;
/** Requests for bytes. Others wait for their turn: to the SDK, waiting for a connection is a server that does not answer. */
export const FETCHED_AT_ONCE = 50;
/** For these, and for all other requests, of which there are never many. */
const CONNECTIONS_MAX = 2 * FETCHED_AT_ONCE;

export interface S3ClientOptions {
  /** Address of a server that is not Amazon's. */
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  /** For tests: how long making a connection may take. */
  readonly connectMillis?: number;
}

export function s3Client({ endpoint, region, connectMillis = CONNECT_MILLIS_MAX }: S3ClientOptions): S3Client {
  const agent = { maxSockets: CONNECTIONS_MAX };
  const limits = { connectionTimeout: connectMillis, socketTimeout: SILENCE_MILLIS_MAX };
  const client = new S3Client({
    maxAttempts: ATTEMPTS_MAX,
    requestHandler: { ...limits, httpAgent: agent, httpsAgent: agent },
    // We compare what is read with the manifest's hashes.
    responseChecksumValidation: 'WHEN_REQUIRED',
    // Such servers have no host name for each bucket.
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    ...(region !== undefined && { region }),
  });
  nameFailures(client);
  repeatWithMendedClock(client);
  return client;
}
