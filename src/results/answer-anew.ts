/**
 * Answers that are read from files which the service made, such as views. If somebody removes such a file meanwhile, or writes into it, it is
 * made anew. An answer of which some bytes have been sent goes on where it broke off, as for a client that asks for the bytes it is missing.
 */
import { MadeIsGone } from '../errors/workspace-unavailable.ts';
import type { Answer } from './answer.ts';
import type { ResultsRequest } from './request/results-request.ts';

/** How often an answer, or the rest of one, is tried. If the files go again and again, the client is told so. */
const ATTEMPTS_MAX = 8;

type AnswerOf = (request: ResultsRequest) => Promise<Answer>;

/** @throws what `answerOf` throws */
export async function answerAnew(request: ResultsRequest, answerOf: AnswerOf): Promise<Answer> {
  const answer = await untilMade(() => answerOf(request));
  const { body, etag } = answer;
  if ((body.kind !== 'stream' && body.kind !== 'partial') || etag === undefined) return answer;
  const { from, to } = body.kind === 'partial' ? body.slice : { from: 0, to: undefined };
  const missing = async (first: number) => {
    const range = { kind: 'from', first, last: to && to - 1 } as const;
    const rest = await answerOf({ ...request, range, ifRange: undefined, ifNoneMatch: undefined });
    if (rest.body.kind !== 'partial' || rest.etag !== etag) throw new Error('the rest of an answer is of another one');
    return rest.body.chunks;
  };
  return { ...answer, body: { ...body, chunks: wholeOf(body.chunks, from, missing) } };
}

/** The chunks; where they break off because a file is gone, the rest comes from `missing`. */
async function* wholeOf(
  chunks: AsyncGenerator<Uint8Array>,
  from: number,
  missing: (first: number) => Promise<AsyncGenerator<Uint8Array>>,
): AsyncGenerator<Uint8Array> {
  let at = from;
  let left = chunks;
  for (let attempt = 1; ; attempt += 1) {
    try {
      for await (const chunk of left) {
        // Once it is handed out, its memory belongs to whoever takes it.
        at += chunk.length;
        yield chunk;
      }
      return;
    } catch (error) {
      if (!(error instanceof MadeIsGone) || attempt === ATTEMPTS_MAX) throw error;
    }
    left = await untilMade(() => missing(at));
  }
}

async function untilMade<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof MadeIsGone) || attempt === ATTEMPTS_MAX) throw error;
    }
  }
}
