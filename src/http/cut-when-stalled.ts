/**
 * Cuts a connection if its answer is in flight and nothing has moved on it for a given time. Node's own socket timer may take twice that
 * time: it looks only when it runs out, and bytes that moved just after the last look count as if they had moved just now. So the timer
 * is set to an eighth of the time, and only several quiet looks in a row are a stall. This is the one timer that is not passed in: Node
 * starts it anew with each byte.
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
    // If the timer ran for longer, something moved meanwhile and started it anew.
    quietMillis = since < 1.5 * look ? quietMillis + since : look;
    if (quietMillis >= stalledMillis - look / 2) socket.destroy();
    else socket.setTimeout(look);
  });
}
