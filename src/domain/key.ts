/**
 * The text of an API key: `qrs_` and forty characters of Crockford's base32 in lower case, 200 random bits. The prefix
 * lets people and secret scanners recognise one; the alphabet has no characters that are taken for each other. The token in the address of
 * a share begins with `qrss_`, so that neither is ever taken for the other.
 */
import { DAY_MILLIS } from './instant.ts';

const PREFIXES = { key: 'qrs_', share: 'qrss_' } as const;
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const KEY = /^qrs_[0-9a-hjkmnp-tv-z]{40}$/;
const SHARE_TOKEN = /^qrss_[0-9a-hjkmnp-tv-z]{40}$/;
const SECRETS = /(qrss?_)[0-9a-hjkmnp-tv-z]{40}/g;
const BITS = 5;

/** The longest time until a key, or a share, expires: a hundred years. */
export const LIFETIME_MILLIS_MAX = 36_500 * DAY_MILLIS;
/** The most characters of the label of a key. */
export const KEY_NAME_LENGTH_MAX = 200;

/** How many random bytes a key is made of. */
export const KEY_BYTES = 25;
/** How many random bytes the id of a key is made of. */
export const KEY_ID_BYTES = 10;

/** @throws RangeError unless there are KEY_BYTES of them. */
export function formatKey(bytes: Uint8Array, kind: keyof typeof PREFIXES = 'key'): string {
  if (bytes.length !== KEY_BYTES) throw new RangeError(`a key is made of ${KEY_BYTES} bytes, not ${bytes.length}`);
  return PREFIXES[kind] + base32(bytes);
}

/** The id by which a key is listed and revoked: no secret. @throws RangeError unless there are KEY_ID_BYTES of them. */
export function formatKeyId(bytes: Uint8Array): string {
  if (bytes.length !== KEY_ID_BYTES) throw new RangeError(`a key id is made of ${KEY_ID_BYTES} bytes`);
  return base32(bytes);
}

/** Whether a text could be a key at all: what is not need not be looked for. */
export function isKey(text: string): boolean {
  return KEY.test(text);
}

/** Whether a text could be the token of a share. */
export function isShareToken(text: string): boolean {
  return SHARE_TOKEN.test(text);
}

/** The text with `qrs_[key]` in place of each key, and `qrss_[key]` in place of each token. */
export function withoutKeys(text: string): string {
  return text.includes('qrs') ? text.replace(SECRETS, '$1[key]') : text;
}

/** Five bits a character; the number of bits must divide by five. */
function base32(bytes: Uint8Array): string {
  let text = '';
  let bits = 0;
  let pending = 0;
  for (const byte of bytes) {
    pending = (pending << 8) | byte;
    bits += 8;
    for (; bits >= BITS; bits -= BITS) text += ALPHABET[(pending >> (bits - BITS)) & 31];
    pending &= (1 << bits) - 1;
  }
  return text;
}
