/**
 * Notices a body from which curl has removed the line ends, as it does with `-d @file`. The lines of a CSV file have then become one, which
 * would be taken for the names of columns and published as a result without rows. Such a body is refused. Where another body without line
 * ends cannot be read, the error says why.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { RequestError } from '../../errors/errors.ts';
import type { BodyObserver } from './received-body.ts';

const START_BYTES = 4;
/** A name, in quotes or not, after a byte order mark or not: no JSON, and nothing that is compressed. */
const NAME = /^(?:\xef\xbb\xbf)?["\w\x80-\xf4]/;
const OTHER = /^(?:PAR1|PK\x03)/;
/** One object, or several that are no longer on lines of their own. */
const JSON_OBJECT = /^(?:\xef\xbb\xbf)?\{/;
const CLOSE = 0x7d;
const OPEN = 0x7b;

export class LineEnds implements BodyObserver {
  #start = '';
  #last: number | undefined;
  #hasOne = false;
  #hasObjectsInOneLine = false;

  /** What curl sends with `-T` has no type, unless one is named beside it. */
  static isNeeded({ 'user-agent': agent, 'content-type': type }: IncomingHttpHeaders): boolean {
    return agent?.startsWith('curl/') === true && type !== undefined;
  }

  update(chunk: Uint8Array): void {
    if (this.#hasOne) return;
    if (this.#start.length < START_BYTES) this.#start += Buffer.from(chunk.subarray(0, START_BYTES)).toString('latin1');
    this.#hasOne = chunk.includes(0x0a) || chunk.includes(0x0d);
    this.#hasObjectsInOneLine ||=
      (this.#last === CLOSE && chunk[0] === OPEN) ||
      Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).includes('}{');
    this.#last = chunk.at(-1) ?? this.#last;
  }

  /** @throws RequestError invalid_result */
  verify(): void {
    if (this.#hasOne || !NAME.test(this.#start) || OTHER.test(this.#start)) return;
    throw new RequestError(
      'invalid_result',
      'the file is one line of names, and names without rows have a line end, too',
    );
  }

  /** @param error what the request failed with */
  explain(error: unknown): unknown {
    const isRefused = error instanceof RequestError && error.code === 'invalid_result';
    if (!isRefused || this.#hasOne || this.#start === '') return error;
    if (JSON_OBJECT.test(this.#start) && !this.#hasObjectsInOneLine) return error;
    const why = 'no line end came: curl leaves them out of what it sends by -d @file';
    return new RequestError('invalid_result', `${error.message}; ${why}; send it by -T file, or --data-binary @file`);
  }
}
