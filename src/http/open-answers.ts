/**
 * Which answer is in flight on each connection, for events of the connection. And what happens when a client closes its side of a
 * connection. It may still wait for its answer (`shutdown`), or be gone (`close`); with TCP only a write tells. So an interim response is
 * written, which every client of HTTP/1.1 skips. A client that is gone refuses it: the second write then fails, and the read of the
 * answer ends.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Sleep } from '../domain/time.ts';

/** The first write asks, the second learns the answer, the third is for slow networks. Some clients skip five at most. */
const PROBE_MILLIS = [0, 100, 3000] as const;

export class OpenAnswers {
  readonly #last = new WeakMap<Socket, ServerResponse>();
  readonly #sleep: Sleep;

  constructor(sleep: Sleep) {
    this.#sleep = sleep;
  }

  begin(response: ServerResponse): void {
    this.#last.set(response.req.socket, response);
  }

  /** The answer on the connection that is not out yet. */
  of(socket: Socket): ServerResponse | undefined {
    const last = this.#last.get(socket);
    return last === undefined || last.writableFinished || last.destroyed ? undefined : last;
  }

  /** Finds out, once the client has closed its side, whether it is still there. */
  watch(socket: Socket): void {
    socket.once('end', () => {
      const answer = this.of(socket);
      // HTTP/1.0 knows no interim responses: who speaks it is noticed when the answer is written.
      if (answer === undefined || answer.req.httpVersionMinor < 1) return;
      const closed = new AbortController();
      answer.once('close', () => closed.abort());
      for (const millis of PROBE_MILLIS) {
        this.#sleep(millis, closed.signal).then(
          () => probe(answer),
          () => undefined,
        );
      }
    });
  }
}

/** An answer whose head has been sent needs no probe: its next write fails. */
function probe(answer: ServerResponse): void {
  if (!answer.headersSent && !answer.destroyed) answer.writeContinue();
}
