/** Where the client thinks it is: what the addresses in its answers begin with. */
import type { FastifyRequest } from 'fastify';
import { RequestError } from '../errors/errors.ts';

const HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?$/i;

/** Scheme and host as the client addressed us. A Host header that is no host is refused, so that it never gets into an address. */
export function clientUrlOf(request: FastifyRequest): string {
  const host = request.host;
  if (!HOST.test(host)) throw new RequestError('bad_request', 'the Host header is missing or is not a host name');
  return `${request.protocol}://${host}`;
}

/**
 * The address of a request, without parameters and the slash at its end, for the next page of a list.
 * @param publicUrl scheme and host; undefined: as the client addressed the service
 */
export function addressOf(request: FastifyRequest, publicUrl: string | undefined): string {
  const [path = ''] = request.url.split('?', 1);
  return (publicUrl ?? clientUrlOf(request)) + path.replace(/\/$/, '');
}
