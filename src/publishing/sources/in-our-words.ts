/**
 * What DuckDB says of a file that it cannot read, in words of ours: its own name functions of its code and speak of options that nobody
 * here can set. What is not known here is damage, which is what it nearly always is.
 */

type Words = readonly (readonly [said: RegExp, ours: string])[];

const PARQUET: Words = [
  [/at least one non-root column/, 'it has no columns'],
  [/encrypt/i, 'it is encrypted: publish it decrypted'],
  [/string encoding|not valid UTF-?8/i, 'a text in it is no UTF-8'],
  [/Timestamp\(/, 'a time in it is beyond those that can be stored'],
  [
    /codec|unsupported|not implemented|not supported|only supported|unrecognized/i,
    'it has an encoding or a compression that is not known here',
  ],
  [/decompress|snappy|zstd|brotli|lz4|gzip/i, 'a block of it cannot be decompressed, so it is damaged'],
];

/** Of an object: also where a line ends and its object does not. */
export const ENDS_EARLY = 'it ends too early';

const JSON_TEXT: Words = [
  [/maximum_object_size/, 'an object is larger than 16 MB'],
  [/unexpected end|no close|unclosed|length is 0/i, ENDS_EARLY],
  [/byte order mark/i, 'a byte order mark stands where it cannot'],
  [/content after/i, 'something follows the object'],
  [/surrogate/i, 'a text has half of a surrogate pair, such as \\ud83d alone, which is no character'],
  [/UTF-8|unicode/i, 'a character of it is no UTF-8'],
  [/escape/i, 'a backslash is followed by what it cannot escape'],
  [/control character/i, 'a text has a control character that is not escaped'],
  [/number|digit/i, 'a number is not written as JSON has them'],
  [/comma/i, 'a comma is followed by nothing'],
  [/literal/i, 'a word is neither true, false nor null'],
  [/unexpected character/i, 'a character stands where it cannot'],
];

export function whyNotParquet(message: string): string {
  // The text of the value follows: it may have any of the words that are looked for.
  const json = /Invalid JSON found in Parquet file: (.*?) Input: /s.exec(message)?.[1];
  if (json !== undefined) return `a value in it of the type JSON is none: ${whyNotJson(json)}`;
  return PARQUET.find(([said]) => said.test(message))?.[1] ?? 'it is damaged';
}

export function whyNotJson(message: string): string {
  return JSON_TEXT.find(([said]) => said.test(message))?.[1] ?? 'it is malformed';
}

/** For what should not happen: whoever reads it can only pass it on. */
export function faultText(message: string): string {
  return `publishing failed by a fault of this program; please report it: ${message.replace(/\s+/g, ' ').trim()}`;
}
