/** Tells the work on a request that nobody waits for its answer any more. */
import type { FastifyReply } from 'fastify';
import { ClientGone } from '../results/limits/client-gone.ts';

/** Aborts when the client leaves before its answer is complete. It is aborted already if the client left while its key was looked up. */
export function goneSignal({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const closed = () => {
    if (!raw.writableFinished) controller.abort(new ClientGone());
  };
  if (raw.closed) closed();
  else raw.once('close', closed);
  return controller.signal;
}
