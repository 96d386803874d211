/** Adds to each failure what was asked of the server, and of which object. The server itself says "Access Denied", and to a HEAD nothing at all. */
import type { S3Client } from '@aws-sdk/client-s3';

interface Asked {
  readonly Bucket?: string;
  readonly Key?: string;
  readonly Prefix?: string;
}

interface Failure {
  readonly name: string;
  readonly code?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

/** What the SDK says of an answer without a body. */
const NOTHING_SAID = 'UnknownError';
const NO_REGION = 'Region is missing';
const NAMED = /^S3 (?:refuses|fails at) /;

export function nameFailures(client: S3Client): void {
  client.middlewareStack.add(
    (next, { commandName = '' }) =>
      async (args) => {
        try {
          return await next(args);
        } catch (error) {
          // It stays the same error, of the same name, so that callers can still tell what it means.
          if (error instanceof Error && !NAMED.test(error.message)) {
            error.message = describe(error, commandName.replace(/Command$/, ''), args.input as Asked);
          }
          throw error;
        }
      },
    { step: 'initialize', name: 'nameFailures' },
  );
}

function describe(error: Error & Failure, asked: string, { Bucket, Key, Prefix }: Asked): string {
  const { name, message, code, $metadata } = error;
  const status = $metadata?.httpStatusCode;
  const object = Key ?? Prefix;
  const what = `${asked}${object === undefined || object === '' ? '' : ` of ${object}`} in the bucket ${Bucket}`;
  if (status === undefined || status < 300) {
    const advice = message === NO_REGION ? ': set AWS_REGION, or `region=` in the address of the store' : '';
    // Of a host with several addresses that all failed, the message is empty.
    return `S3 fails at ${what}: ${message || code}${advice}`;
  }
  return `S3 refuses ${what}: ${message === NOTHING_SAID ? `status ${status}` : `${name}, ${message}`}`;
}
