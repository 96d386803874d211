/**
 * Values as bytes that are in order as the values are: two keys compare byte by byte, the shorter one first where it is the beginning
 * of the other, as DuckDB compares the values (a law in ordered-key.test.ts).
 *
 * | type | key |
 * |---|---|
 * | varchar, json | UTF-8. JavaScript's own order is that of UTF-16: it puts 😀 before ﬀ |
 * | varbinary, uuid | its bytes |
 * | whole numbers, decimals (in units of their last digit), dates, times, timestamps | big-endian, the sign bit turned over |
 * | boolean | as the numbers 0 and 1 |
 * | hugeint, uint256, int256, decimals of more than 38 digits | 32 bytes, likewise |
 * | real, double | IEEE 754, big-endian; the sign turned over, and of negative numbers all bits. −0.0 is 0.0, every NaN the greatest |
 *
 * Null has no key. Intervals and times with a zone have none either, as different ones may be equal or compare by more than their
 * bytes; nor have lists, maps and rows.
 */
import type { ColumnType } from '../../../domain/column-type.ts';
import { isWideDecimal } from '../../../duckdb/storage-type.ts';
import type { Value } from '../../plan/predicate.ts';

/** How the keys of a column are made. */
export type KeyForm =
  /** Whole numbers of so many bytes. */
  | { readonly kind: 'whole'; readonly bytes: 1 | 2 | 4 | 8 | 16 }
  | { readonly kind: 'floating'; readonly bytes: 4 | 8 }
  /** Whole numbers, and decimals without their point, that are stored as text. */
  | { readonly kind: 'digits'; readonly signed: boolean }
  | { readonly kind: 'text' }
  | { readonly kind: 'binary' };

/** Of texts and binaries only the beginning is a key: so many characters, or bytes. */
export const KEY_LENGTH_MAX = 256;

const DIGITS_BYTES = 32;
const HALF_OF_DIGITS = 2n ** 255n;

/** Undefined: values of the type have no keys. */
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
  /** Only the beginning of the value: longer values have the same key. */
  readonly isCut: boolean;
}

/** The key of a value of a predicate; undefined where it cannot be told for certain. */
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

/** The texts that begin with `text` have keys from the first, which may be equal, to the second, which is beyond. */
export function prefixKeys(text: string): { readonly from: Key; readonly to: Uint8Array | undefined } {
  const from = textKey(text);
  return { from, to: following(from.bytes) };
}

/**
 * Keys of values as DuckDB holds them, made in their place.
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

/** The key of a number that is stored as text, its point left out. */
export function digitsKey(value: bigint, signed: boolean): Uint8Array {
  const above = signed ? value + HALF_OF_DIGITS : value;
  return Buffer.from(above.toString(16).padStart(2 * DIGITS_BYTES, '0'), 'hex');
}

/** DuckDB holds decimals in as few bytes as their digits need. */
function decimalBytes(precision: number): 2 | 4 | 8 | 16 {
  if (precision <= 4) return 2;
  if (precision <= 9) return 4;
  return precision <= 18 ? 8 : 16;
}

function whole(bytes: Uint8Array): Key {
  return { bytes, isCut: false };
}

function textKey(text: string): Key {
  // A character has one or two code units, so shorter texts need not be taken apart.
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
 * Whether a double lies where rounding it to a float may not give what rounding the text gives that it was read from: halfway between two
 * floats, or among those too small to have all their digits.
 */
function isHalfway(value: number): boolean {
  if (!Number.isFinite(value) || Math.fround(value) === value) return false;
  if (Math.abs(value) < 2 ** -126) return true;
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  return (bits.getUint32(4) & 0x1fffffff) === 0x10000000;
}

/** −0.0 becomes 0.0, and every NaN the one that comes after infinity. */
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
  // In place and fast; Node asks that they begin where it does not matter how they are aligned.
  if (bytes === 2) values.swap16();
  else if (bytes === 4) values.swap32();
  else if (bytes === 8) values.swap64();
  else if (bytes === 16) for (let at = 0; at < values.length; at += bytes) values.subarray(at, at + bytes).reverse();
}

/** The first key after all that begin with `prefix`; undefined where there is none. */
function following(prefix: Uint8Array): Uint8Array | undefined {
  let end = prefix.length;
  while (end > 0 && prefix[end - 1] === 0xff) end -= 1;
  if (end === 0) return undefined;
  const next = Buffer.from(prefix.subarray(0, end));
  next[end - 1] = (next[end - 1] ?? 0) + 1;
  return next;
}
