/** What a tool answers, as one text, for a message that has it inside. It has a bound, since it is copied and escaped at once. */
import { RequestError } from '../../errors/errors.ts';
import { type Answer, bytesOf } from '../../results/answer.ts';

/** More is more than a model reads, and takes the event loop for some milliseconds. */
const BYTES_MAX = 1_000_000;

/** What may be too large, and what to ask for instead. */
export interface Bounded {
  readonly what: string;
  readonly instead: string;
}

/** @throws RequestError invalid_parameter where the body is larger */
export async function bodyText({ body }: Answer, bounded: Bounded): Promise<string> {
  const kept: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of bytesOf(body)) {
    bytes += chunk.byteLength;
    if (bytes > BYTES_MAX) throw tooLarge(bounded);
    kept.push(chunk);
  }
  return Buffer.concat(kept).toString();
}

/** @throws RequestError invalid_parameter where the text is larger */
export function documentText(document: object, bounded: Bounded): string {
  const text = JSON.stringify(document);
  if (Buffer.byteLength(text) > BYTES_MAX) throw tooLarge(bounded);
  return text;
}

function tooLarge({ what, instead }: Bounded): RequestError {
  const problem = `${what} take more than ${BYTES_MAX} bytes of JSON, which is the most; ${instead}`;
  return new RequestError('invalid_parameter', problem);
}
