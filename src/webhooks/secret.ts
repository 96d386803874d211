/** Secrets and signatures, as Standard Webhooks has them. */
import { createHmac } from 'node:crypto';

const PREFIX = 'whsec_';
/** How many random bytes a secret is made of. */
const SECRET_BYTES = 32;

/** @param randomBytes from a generator fit for secrets */
export function makeSecret(randomBytes: (length: number) => Uint8Array): string {
  return PREFIX + Buffer.from(randomBytes(SECRET_BYTES)).toString('base64');
}

export interface SignedMessage {
  readonly id: string;
  /** Of the attempt: seconds since 1970. */
  readonly seconds: number;
  readonly body: string;
}

/** The headers of an attempt that say what it is, when it was made, and that it is ours. */
export function signedHeaders({ id, seconds, body }: SignedMessage, secret: string): Readonly<Record<string, string>> {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': `v1,${signature}` };
}
