/** The body of an answer as one text, for a message that has it inside. It has a bound, since it is copied and escaped at once. */
import { RequestError } from '../../errors/errors.ts';
import { type Answer, bytesOf } from '../../results/answer.ts';

/** More is more than a model reads, and takes the event loop for some milliseconds. */
const BYTES_MAX = 1_000_000;

/** @throws RequestError invalid_parameter where the body is larger */
export async function bodyText({ body }: Answer): Promise<string> {
  const kept: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of bytesOf(body)) {
    bytes += chunk.byteLength;
    if (bytes > BYTES_MAX) {
      const problem = `limit: these rows take more than ${BYTES_MAX} bytes of JSON, which is the most; ask for fewer rows, or for some columns`;
      throw new RequestError('invalid_parameter', problem);
    }
    kept.push(chunk);
  }
  return Buffer.concat(kept).toString();
}
