/**
 * Thrift's compact protocol, as far as footers of Parquet files need it: walks over values without looking into more of them than it must,
 * and puts structs together again out of fields that stay as they are and fields that have changed.
 * https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
 */

/** Types of the compact protocol. */
export const THRIFT = {
  false: 2,
  byte: 3,
  i16: 4,
  i32: 5,
  i64: 6,
  double: 7,
  binary: 8,
  list: 9,
  set: 10,
  map: 11,
  struct: 12,
};

/** More nested than any footer is. */
const DEPTH_MAX = 32;

/** The bytes are no value of the compact protocol. */
export class ThriftDamaged extends Error {
  constructor() {
    super('the bytes are not in the compact protocol of Thrift');
  }
}

export interface Field {
  readonly id: number;
  readonly type: number;
  /** Where its value begins and ends. */
  readonly start: number;
  readonly end: number;
}

export interface ListHeader {
  readonly size: number;
  /** Of its elements. */
  readonly type: number;
}

/** Every method reads from `at` on, leaves `at` behind what it has read, and throws ThriftDamaged. */
export class ThriftReader {
  readonly #bytes: Buffer;
  at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** The fields of a struct. */
  fields(depth = 0): readonly Field[] {
    const fields: Field[] = [];
    for (let id = 0; ; ) {
      const header = this.fieldHeader(id);
      if (header === undefined) return fields;
      id = header.id;
      const start = this.at;
      this.skip(header.type, depth + 1);
      fields.push({ ...header, start, end: this.at });
    }
  }

  /** The number and the type of a struct's next field; undefined at the struct's end. @param previous the number of the field before */
  fieldHeader(previous: number): Pick<Field, 'id' | 'type'> | undefined {
    const header = this.#byte();
    if (header === 0) return undefined;
    const type = header & 15;
    return { type, id: header >> 4 === 0 ? this.integer() : previous + (header >> 4) };
  }

  listHeader(): ListHeader {
    const header = this.#byte();
    const size = header >> 4;
    return { size: size === 15 ? this.#varint() : size, type: header & 15 };
  }

  /** An i16, i32 or i64. Beyond 2^53 it is not exact. */
  integer(): number {
    const encoded = this.#varint();
    return encoded % 2 === 0 ? encoded / 2 : -(encoded + 1) / 2;
  }

  binary(): Buffer {
    const length = this.#varint();
    const start = this.at;
    this.#advance(length);
    return this.#bytes.subarray(start, this.at);
  }

  skip(type: number, depth = 0): void {
    if (depth > DEPTH_MAX) throw new ThriftDamaged();
    if (type === THRIFT.struct) this.fields(depth);
    else if (type === THRIFT.list || type === THRIFT.set) {
      const list = this.listHeader();
      for (let i = 0; i < list.size; i += 1) this.skipElement(list.type, depth);
    } else if (type === THRIFT.map) {
      const size = this.#varint();
      const types = size === 0 ? 0 : this.#byte();
      for (let i = 0; i < size; i += 1) {
        this.skipElement(types >> 4, depth);
        this.skipElement(types & 15, depth);
      }
    } else if (type === THRIFT.binary) this.#advance(this.#varint());
    else if (type === THRIFT.double) this.#advance(8);
    else if (type === THRIFT.byte) this.#advance(1);
    else if (type > THRIFT.byte && type <= THRIFT.i64) this.#varint();
    else if (type > THRIFT.struct || type === 0) throw new ThriftDamaged();
  }

  /** A boolean within a list takes a byte; as a field, its type says its value. */
  skipElement(type: number, depth = 0): void {
    if (type <= THRIFT.false) this.#advance(1);
    else this.skip(type, depth + 1);
  }

  #varint(): number {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#byte();
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
    throw new ThriftDamaged();
  }

  #byte(): number {
    const byte = this.#bytes[this.at];
    if (byte === undefined) throw new ThriftDamaged();
    this.at += 1;
    return byte;
  }

  #advance(count: number): void {
    this.at += count;
    if (this.at > this.#bytes.length) throw new ThriftDamaged();
  }
}

export interface EncodedField {
  readonly id: number;
  readonly type: number;
  readonly bytes: Uint8Array;
}

/** A struct of these fields, whatever their order: each less than 16 beyond the one before, as those of a footer are. */
export function encodeStruct(fields: readonly EncodedField[]): Buffer {
  const ordered = fields.toSorted((a, b) => a.id - b.id);
  const byteChunks = ordered.flatMap(({ id, type, bytes }, i) => [
    Uint8Array.of(((id - (ordered[i - 1]?.id ?? 0)) << 4) | type),
    bytes,
  ]);
  return Buffer.concat([...byteChunks, Uint8Array.of(0)]);
}

/** A list of encoded structs. */
export function encodeStructs(structs: readonly Uint8Array[]): Buffer {
  const size = structs.length;
  const header = size < 15 ? [(size << 4) | THRIFT.struct] : [0xf0 | THRIFT.struct, ...varint(size)];
  return Buffer.concat([Uint8Array.from(header), ...structs]);
}

/** An i16, i32 or i64 that is not negative and at most 2^52. */
export function encodeInteger(value: number): Uint8Array {
  return Uint8Array.from(varint(2 * value));
}

function varint(value: number): readonly number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return [...bytes, rest];
}
