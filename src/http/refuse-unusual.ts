/**
 * Refuses requests that are correct HTTP but that we do not answer as they are. It comes after the key, and answers in the shape of all
 * errors.
 */
import type { IncomingMessage } from 'node:http';
import { RequestError } from '../errors/errors.ts';

/** @throws RequestError bad_request · expectation_failed */
export function refuseUnusual({ headers, httpVersionMajor, httpVersionMinor }: IncomingMessage): void {
  const { host, expect } = headers;
  if (host === undefined && (httpVersionMajor > 1 || httpVersionMinor > 0)) {
    throw new RequestError('bad_request', 'the Host header is missing or is not a host name');
  }
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    throw new RequestError(
      'expectation_failed',
      `Expect: found "${expect.slice(0, 60)}", expected 100-continue or none`,
    );
  }
}
