/**
 * Cuts a connection on which nothing has moved for so long while its answer is in flight. Node's own timer may take twice the time:
 * it looks at how much waits to be written only when it runs out, and what moved at the beginning counts as if it moved at the end.
 * So it runs out several times, and only so many times in a row are a stall.
 */
import type { ServerResponse } from 'node:http';

const LOOKS = 8;

/** @param monotonic milliseconds that only ever grow */
export function cutWhenStalled(response: ServerResponse, stalledMillis: number, monotonic: () => number): void {
  const look = Math.ceil(stalledMillis / LOOKS);
  let lookedAt = monotonic();
  let quietMillis = 0;
  // The response itself has no connection yet while others are sent before it.
  const { socket } = response.req;
  response.setTimeout(look, () => {
    const since = monotonic() - lookedAt;
    lookedAt += since;
    // A timer that ran for longer was set anew meanwhile, because something moved.
    quietMillis = since < 1.5 * look ? quietMillis + since : look;
    if (quietMillis >= stalledMillis - look / 2) socket.destroy();
    else socket.setTimeout(look);
  });
}
