/**
 * Reads a small body to its end, as JSON in UTF-8. How many values it has is counted before it is parsed: a megabyte of brackets takes a
 * tenth of a second to parse and to collect, in which no other request is answered.
 */
import type { Readable } from 'node:stream';
import { requireWellFormed } from '../../domain/well-formed-json.ts';
import { RequestError } from '../../errors/errors.ts';
import { refuseEncoding } from './body-description.ts';
import { parseKeepingDigits } from './exact-number.ts';

export const JSON_BYTES_MAX = 1_000_000;
/** More than any body that a route understands has. */
export const JSON_VALUES_MAX = 10_000;
export const JSON_DEPTH_MAX = 50;

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * @returns undefined where the body is empty; a number that a double cannot hold is an ExactNumber
 * @throws RequestError invalid_body for what is not JSON, unsupported_media_type for what is compressed; whatever the body fails with
 */
export async function readJsonBody(body: Readable, contentEncoding?: string): Promise<unknown> {
  const bytes = Buffer.concat(await body.toArray());
  if (bytes.byteLength === 0) return undefined;
  refuseEncoding(contentEncoding);
  requireFew(bytes);
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    requireWellFormed(text);
    return parseKeepingDigits(text);
  } catch (error) {
    throw new RequestError('invalid_body', `the body is no JSON: ${(error as Error).message}`);
  }
}

/** Counts the commas and brackets that stand outside of texts. In what is no JSON they may be miscounted, and it is refused either way. */
function requireFew(bytes: Uint8Array): void {
  let [values, depth] = [1, 0];
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      at = endOfText(bytes, at);
    } else if (byte === COMMA) {
      values += 1;
    } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      values += 1;
      depth += 1;
      if (depth > JSON_DEPTH_MAX) throw tooMany(`is nested more than ${JSON_DEPTH_MAX} deep`);
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      depth -= 1;
    }
    if (values > JSON_VALUES_MAX) throw tooMany(`has more than ${JSON_VALUES_MAX} values`);
  }
}

/** @param start of its first quote @returns where its last one is */
function endOfText(bytes: Uint8Array, start: number): number {
  for (let quote = bytes.indexOf(QUOTE, start + 1); quote >= 0; quote = bytes.indexOf(QUOTE, quote + 1)) {
    let before = quote;
    while (bytes[before - 1] === BACKSLASH) before -= 1;
    if ((quote - before) % 2 === 0) return quote;
  }
  return bytes.length;
}

function tooMany(what: string): RequestError {
  return new RequestError('invalid_body', `the body ${what}`);
}
