/**
 * Keys: values as bytes, in the order of the values. Two keys compare byte by byte; a key that is the beginning of another
 * comes first. DuckDB compares the values in the same order (ordered-key.test.ts holds that).
 *
 * | type | key |
 * |---|---|
 * | varchar, json | UTF-8. JavaScript's own order is that of UTF-16: it puts 😀 before ﬀ |
 * | varbinary, uuid | its bytes |
 * | whole numbers, decimals (in units of their last digit), dates, times, timestamps | big-endian, with the sign bit inverted |
 * | boolean | as the numbers 0 and 1 |
 * | hugeint, uint256, int256, decimals of more than 38 digits | 32 bytes, likewise |
 * | real, double | IEEE 754, big-endian, with the sign bit inverted; of negative numbers all bits. −0.0 counts as 0.0, and NaN
 * as the greatest |
 *
 * Null has no key. Intervals and times with a zone have none, because different ones may be equal, or compare by more than
 * their bytes. Lists, maps and rows have none.
 */
import type { ColumnType } from '../../../domain/column-type.ts';
import { isWideDecimal } from '../../../duckdb/storage-type.ts';
import type { Value } from '../../plan/predicate.ts';

/** How the keys of a column are made. */
export type KeyForm =
  /** Whole numbers of this many bytes. */
  | { readonly kind: 'whole'; readonly bytes: 1 | 2 | 4 | 8 | 16 }
  | { readonly kind: 'floating'; readonly bytes: 4 | 8 }
  /** Whole numbers, and decimals without their point, stored as text. */
  | { readonly kind: 'digits'; readonly signed: boolean }
  | { readonly kind: 'text' }
  | { readonly kind: 'binary' };

/** A key holds at most this many characters of a text, or bytes of a binary. */
export const KEY_LENGTH_MAX = 256;

const DIGITS_BYTES = 32;
const HALF_OF_DIGITS = 2n ** 255n;

/** Undefined where the type has no keys. */
export function keyFormOf(type: ColumnType): KeyForm | undefined {
  switch (type.kind) {
    case 'boolean':
    case 'tinyint':
      return { kind: 'whole', bytes: 1 };
    case 'smallint':
      return { kind: 'whole', bytes: 2 };
    case 'integer':
    case 'date':
      return { kind: 'whole', bytes: 4 };
    case 'bigint':
    case 'timestamp':
      return { kind: 'whole', bytes: 8 };
    case 'time':
      return type.withZone ? undefined : { kind: 'whole', bytes: 8 };
    case 'uuid':
      return { kind: 'whole', bytes: 16 };
    case 'decimal':
      return isWideDecimal(type)
        ? { kind: 'digits', signed: true }
        : { kind: 'whole', bytes: decimalBytes(type.precision) };
    case 'hugeint':
    case 'int256':
      return { kind: 'digits', signed: true };
    case 'uint256':
      return { kind: 'digits', signed: false };
    case 'real':
      return { kind: 'floating', bytes: 4 };
    case 'double':
      return { kind: 'floating', bytes: 8 };
    case 'varchar':
    case 'json':
      return { kind: 'text' };
    case 'varbinary':
      return { kind: 'binary' };
    case 'interval':
    case 'array':
    case 'map':
    case 'row':
      return undefined;
    default:
      return type satisfies never;
  }
}

/** Bytes of every key of the form; undefined where they differ. */
export function keyBytesOf(form: KeyForm): number | undefined {
  if (form.kind === 'digits') return DIGITS_BYTES;
  return form.kind === 'text' || form.kind === 'binary' ? undefined : form.bytes;
}

export interface Key {
  readonly bytes: Uint8Array;
  /** The key is only the beginning of the value, so longer values have the same key. */
  readonly isCut: boolean;
}

/** The key of a predicate's value; undefined where it is not certain. */
export function keyOf(value: Value, form: KeyForm): Key | undefined {
  switch (form.kind) {
    case 'text':
      return textKey(String(value));
    case 'binary': {
      const bytes = Buffer.from(String(value), 'hex');
      return { bytes: bytes.subarray(0, KEY_LENGTH_MAX), isCut: bytes.length >= KEY_LENGTH_MAX };
    }
    case 'digits':
      return whole(digitsKey(BigInt(value), form.signed));
    case 'whole':
      return whole(
        form.bytes === 16 && typeof value === 'string' ? uuidKey(value) : wholeKey(BigInt(value), form.bytes),
      );
    case 'floating': {
      const number = Number(value);
      return form.bytes === 4 && isHalfway(number) ? undefined : whole(floatingKey(number, form.bytes));
    }
    default:
      return form satisfies never;
  }
}

/** The bounds of the keys of all texts that begin with `text`: the first is inclusive, the second exclusive. */
export function prefixKeys(text: string): { readonly from: Key; readonly to: Uint8Array | undefined } {
  const from = textKey(text);
  return { from, to: following(from.bytes) };
}

/**
 * Turns values in DuckDB's own bytes into keys, in place.
 * @param values of fixed width, little-endian, one after another
 */
export function toKeys(values: Uint8Array, form: KeyForm & { readonly kind: 'whole' | 'floating' }): Uint8Array {
  const { bytes } = form;
  const keys = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
  if (form.kind === 'floating') normalize(keys, form.bytes);
  reverseEach(keys, bytes);
  for (let at = 0; at < keys.length; at += bytes) {
    const first = keys[at] ?? 0;
    if (form.kind === 'whole' || first < 0x80) keys[at] = first ^ 0x80;
    else for (let i = at; i < at + bytes; i += 1) keys[i] = ~(keys[i] ?? 0);
  }
  return keys;
}

/** The key of a number that is stored as text, without its point. */
export function digitsKey(value: bigint, signed: boolean): Uint8Array {
  const above = signed ? value + HALF_OF_DIGITS : value;
  return Buffer.from(above.toString(16).padStart(2 * DIGITS_BYTES, '0'), 'hex');
}

/** DuckDB stores a decimal in as few bytes as its digits need. */
function decimalBytes(precision: number): 2 | 4 | 8 | 16 {
  if (precision <= 4) return 2;
  if (precision <= 9) return 4;
  return precision <= 18 ? 8 : 16;
}

function whole(bytes: Uint8Array): Key {
  return { bytes, isCut: false };
}

function textKey(text: string): Key {
  // A character is one or two code units, so a text this short need not be split into characters.
  if (text.length < KEY_LENGTH_MAX) return whole(Buffer.from(text));
  const characters = [...text];
  return {
    bytes: Buffer.from(characters.slice(0, KEY_LENGTH_MAX).join('')),
    isCut: characters.length >= KEY_LENGTH_MAX,
  };
}

function wholeKey(value: bigint, bytes: number): Uint8Array {
  const above = value + 2n ** BigInt(8 * bytes - 1);
  return Buffer.from(above.toString(16).padStart(2 * bytes, '0'), 'hex');
}

function uuidKey(text: string): Uint8Array {
  return Buffer.from(text.replaceAll('-', ''), 'hex');
}

function floatingKey(value: number, bytes: 4 | 8): Uint8Array {
  const held = Buffer.alloc(bytes);
  if (bytes === 4) held.writeFloatLE(value);
  else held.writeDoubleLE(value);
  return toKeys(held, { kind: 'floating', bytes });
}

/**
 * Whether rounding the double to a float may give another float than rounding its text does: it lies halfway between two
 * floats, or it is too small to have all its digits.
 */
function isHalfway(value: number): boolean {
  if (!Number.isFinite(value) || Math.fround(value) === value) return false;
  if (Math.abs(value) < 2 ** -126) return true;
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  return (bits.getUint32(4) & 0x1fffffff) === 0x10000000;
}

/** −0.0 becomes 0.0. Every NaN becomes the one after infinity. */
function normalize(values: Buffer, bytes: 4 | 8): void {
  for (let at = 0; at < values.length; at += bytes) {
    const value = bytes === 4 ? values.readFloatLE(at) : values.readDoubleLE(at);
    if (value === 0) values.fill(0, at, at + bytes);
    else if (Number.isNaN(value)) {
      values.fill(0xff, at, at + bytes);
      values[at + bytes - 1] = 0x7f;
    }
  }
}

function reverseEach(values: Buffer, bytes: number): void {
  // `swap16` and the like are fast and work in place, at any alignment.
  if (bytes === 2) values.swap16();
  else if (bytes === 4) values.swap32();
  else if (bytes === 8) values.swap64();
  else if (bytes === 16) for (let at = 0; at < values.length; at += bytes) values.subarray(at, at + bytes).reverse();
}

/** The first key after all keys that begin with `prefix`; undefined where there is none. */
function following(prefix: Uint8Array): Uint8Array | undefined {
  let end = prefix.length;
  while (end > 0 && prefix[end - 1] === 0xff) end -= 1;
  if (end === 0) return undefined;
  const next = Buffer.from(prefix.subarray(0, end));
  next[end - 1] = (next[end - 1] ?? 0) + 1;
  return next;
}
