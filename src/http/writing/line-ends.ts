/**
 * Notices CSV out of which curl has left the line ends, as it does with `-d @file`: all lines have become one, the names of the columns,
 * and would be published as a result without rows.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { RequestError } from '../../errors/errors.ts';
import type { BodyObserver } from './received-body.ts';

const START_BYTES = 4;
/** A name, in quotes or not, after a byte order mark or not: no JSON, and nothing that is compressed. */
const NAME = /^(?:\xef\xbb\xbf)?["\w\x80-\xf4]/;
const OTHER = /^(?:PAR1|PK\x03)/;

export class LineEnds implements BodyObserver {
  #start = '';
  #hasOne = false;

  /** What curl sends with `-T` has no type, unless one is named beside it. */
  static isNeeded({ 'user-agent': agent, 'content-type': type }: IncomingHttpHeaders): boolean {
    return agent?.startsWith('curl/') === true && type !== undefined;
  }

  update(chunk: Uint8Array): void {
    if (this.#start.length < START_BYTES) this.#start += Buffer.from(chunk.subarray(0, START_BYTES)).toString('latin1');
    this.#hasOne ||= chunk.includes(0x0a) || chunk.includes(0x0d);
  }

  /** @throws RequestError invalid_result */
  verify(): void {
    if (this.#hasOne || !NAME.test(this.#start) || OTHER.test(this.#start)) return;
    throw new RequestError(
      'invalid_result',
      'the file has one line, without an end: curl leaves line ends out of what it sends by -d @file; send it by -T file, or --data-binary @file; names alone, of a result without rows, have a line end, too',
    );
  }
}
