/**
 * Refuses requests that are correct HTTP but that we do not answer as they are. It comes after the key, and answers in the shape of all
 * errors.
 */
import type { IncomingMessage } from 'node:http';
import { shortened } from '../domain/shortened.ts';
import { RequestError } from '../errors/errors.ts';

/** @throws RequestError bad_request · expectation_failed */
export function refuseUnusual({ headers, rawHeaders, httpVersionMajor, httpVersionMinor }: IncomingMessage): void {
  const { host, expect, 'transfer-encoding': coding } = headers;
  // A proxy in front of us may have gone by the other one (RFC 9112 §3.2).
  if (rawHeaders.filter((text, index) => index % 2 === 0 && /^host$/i.test(text)).length > 1) {
    throw new RequestError('bad_request', 'the Host header is there more than once');
  }
  if (host === undefined && (httpVersionMajor > 1 || httpVersionMinor > 0)) {
    throw new RequestError('bad_request', 'the Host header is missing or is not a host name');
  }
  // Node takes the body out of its chunks, and leaves it in whatever else it was packed.
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked') {
    const found = shortened(coding, 60);
    const problem = `Transfer-Encoding: found "${found}", expected chunked; how a body is packed is said in Content-Encoding`;
    throw new RequestError('bad_request', problem);
  }
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    throw new RequestError(
      'expectation_failed',
      `Expect: found "${shortened(expect, 60)}", expected 100-continue or none`,
    );
  }
}
