/** Reads a small body to its end, as JSON in UTF-8. */
import type { Readable } from 'node:stream';
import { RequestError } from '../../errors/errors.ts';

export const JSON_BYTES_MAX = 1_000_000;

/** Undefined where the body is empty. @throws RequestError invalid_body for what is not JSON; whatever the body fails with */
export async function readJsonBody(body: Readable): Promise<unknown> {
  const bytes = Buffer.concat(await body.toArray());
  if (bytes.byteLength === 0) return undefined;
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw new RequestError('invalid_body', `the body is no JSON: ${(error as Error).message}`);
  }
}
