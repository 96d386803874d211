/**
 * HTTP/1.0 ends an answer of unknown length by closing the connection, so an answer that is cut would look like one that has ended. Most
 * releases of nginx ask so unless they are told otherwise, and pass on what they got as if it were whole. A reset is the only other end.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';

export function resetWhenCut({ httpVersionMinor, socket }: IncomingMessage, response: ServerResponse): void {
  if (httpVersionMinor > 0) return;
  const { destroy } = socket;
  socket.destroy = (error) => {
    // Not `resetAndDestroy`: it ends the connection properly first, and whoever reads sees that end.
    if (!response.writableFinished) Object.assign(socket, { resetAndClosing: true });
    return destroy.call(socket, error);
  };
  // The next request on the connection has an answer of its own.
  response.once('finish', () => {
    socket.destroy = destroy;
  });
}
