/** Tells the work on a request that nobody waits for its answer any more. */
import type { FastifyReply } from 'fastify';
import { ClientGone } from '../results/limits/client-gone.ts';

/** Aborts when the client has gone before its answer was complete. */
export function goneSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort(new ClientGone());
  });
  return controller.signal;
}
