/**
 * Errors before there is a request: a head that is too long, that takes too long, or that is no HTTP. So is a body in chunks whose lengths
 * cannot be read. No route answers them, so the error is written to the bare connection, in the shape of all errors, and the connection ends.
 */

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ConnectionError } from 'fastify';

interface Refusal {
  readonly status: string;
  readonly message: string;
}

/** Curl sends an address as it is typed. */
const BY_CURL = 'as curl does with -G --data-urlencode';

const REFUSALS: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    message: 'the address and headers are too long; QRS_HEADER_BYTES_MAX is the limit',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: '408 Request Timeout',
    message: 'the request did not arrive in time',
  },
  HPE_INVALID_URL: malformed(
    `the address has a character that must be encoded: beyond ASCII it is written %XX, ${BY_CURL}`,
  ),
  // Of what follows a blank.
  HPE_INVALID_CONSTANT: malformed(
    `the address is not followed by HTTP/1.1: a blank in it is written + or %20, ${BY_CURL}`,
  ),
  HPE_INVALID_EOF_STATE: malformed('the connection was closed before the request was whole'),
};
const MALFORMED = malformed('the request is not well-formed HTTP');

function malformed(message: string): Refusal {
  return { status: '400 Bad Request', message };
}

/** @param answer the one on the connection that is not out yet: a refusal in the middle of it would look like a part of it */
export function refuseConnection(error: ConnectionError, socket: Socket, answer: ServerResponse | undefined): void {
  const isAnswering = answer !== undefined && !isBrokenBody(answer, socket);
  // Whoever has reset the connection reads no answer.
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable || isAnswering) {
    socket.destroy();
    return;
  }
  const { status, message } = REFUSALS[error.code] ?? MALFORMED;
  const body = JSON.stringify({ error: message });
  const head = [
    `HTTP/1.1 ${status}`,
    'content-type: application/json',
    'x-error-code: bad_request',
    'cache-control: no-store',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/**
 * Whether what cannot be read is the body of the request that would be answered next, and nothing has been sent for it. Its route waits for
 * the rest of the body, which cannot come, and ends with the connection.
 */
function isBrokenBody(answer: ServerResponse, socket: Socket): boolean {
  return answer.socket === socket && !answer.headersSent && !answer.req.complete;
}
