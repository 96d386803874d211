/**
 * Edits the schema in a Parquet file's footer, so that DuckDB reads chosen leaves (columns, or what lies within them) as the
 * bytes or whole numbers that they physically are. It would round some of them on its own: a decimal of more than 38 digits
 * becomes a double, nanoseconds become microseconds.
 *
 * The footer is a Thrift struct in the compact protocol: https://parquet.apache.org/docs/file-format/metadata/. Only its list of
 * schema elements is taken apart and put together again; all other bytes stay as they are.
 */
import { constants } from 'node:fs';
import { chmod, copyFile, type FileHandle, open } from 'node:fs/promises';
import { PublishError } from '../../publish-error.ts';

/** After the footer: its length in four bytes, and the mark PAR1. */
const TAIL_BYTES = 8;
/** More nested than any footer is. */
const DEPTH_MAX = 32;

/** Field numbers of parquet.thrift. */
const FILE_SCHEMA = 2;
const ELEMENT = { type: 1, typeLength: 2, children: 5, convertedType: 6, scale: 7, precision: 8, logicalType: 10 };
const INT96 = 3;
const FIXED_LEN_BYTE_ARRAY = 7;
const INT96_BYTES = 12;

/** Types of the compact protocol. */
const THRIFT = { false: 2, byte: 3, i32: 5, i64: 6, double: 7, binary: 8, list: 9, set: 10, map: 11, struct: 12 };

/**
 * Copies the file and takes the logical types of some leaves away. An INT96 becomes 12 bytes.
 * @param leaves positions among the leaves of the schema, in its order
 * @throws PublishError when the footer is none
 */
export async function copyWithBareLeaves(from: string, to: string, leaves: ReadonlySet<number>): Promise<void> {
  // A clone where the filesystem has them: then nothing is copied.
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  // The copy has the mode of the file, which may be read-only.
  await chmod(to, 0o600);
  await using file = await open(to, 'r+');
  const { footer, start } = await readFooter(file);
  const edited = bareLeaves(footer, leaves);
  const tail = Buffer.alloc(TAIL_BYTES, 'PAR1', 'latin1');
  tail.writeUInt32LE(edited.length, 0);
  await file.truncate(start);
  await file.write(Buffer.concat([edited, tail]), 0, edited.length + TAIL_BYTES, start);
}

async function readFooter(file: FileHandle): Promise<{ readonly footer: Buffer; readonly start: number }> {
  const { size } = await file.stat();
  const tail = Buffer.alloc(TAIL_BYTES);
  await file.read(tail, 0, TAIL_BYTES, Math.max(0, size - TAIL_BYTES));
  const length = tail.readUInt32LE(0);
  const start = size - TAIL_BYTES - length;
  if (tail.toString('latin1', 4) !== 'PAR1' || start < 4) throw notAFooter();
  const footer = Buffer.alloc(length);
  await file.read(footer, 0, length, start);
  return { footer, start };
}

function bareLeaves(footer: Buffer, leaves: ReadonlySet<number>): Buffer {
  const reader = new CompactReader(footer);
  const schema = reader.fields(0).find(({ id }) => id === FILE_SCHEMA);
  if (schema === undefined) throw notAFooter();
  reader.at = schema.start;
  const elements = reader.listHeader();
  const byteChunks = [footer.subarray(0, reader.at)];
  let leaf = -1;
  for (let index = 0; index < elements.size; index += 1) {
    const start = reader.at;
    const fields = reader.fields(1);
    const isLeaf = index > 0 && !fields.some(({ id, start: at }) => id === ELEMENT.children && footer[at] !== 0);
    if (isLeaf) leaf += 1;
    const bare = isLeaf && leaves.has(leaf);
    byteChunks.push(bare ? encodeFields(bareElement(fields, footer)) : footer.subarray(start, reader.at));
  }
  return Buffer.concat([...byteChunks, footer.subarray(reader.at)]);
}

interface EncodedField {
  readonly id: number;
  readonly type: number;
  readonly bytes: Uint8Array;
}

function bareElement(fields: readonly Field[], footer: Buffer): readonly EncodedField[] {
  const { type, typeLength, convertedType, scale, precision, logicalType } = ELEMENT;
  const dropped = new Set([convertedType, scale, precision, logicalType]);
  const kept = fields.flatMap((field): EncodedField[] =>
    dropped.has(field.id) ? [] : [{ id: field.id, type: field.type, bytes: footer.subarray(field.start, field.end) }],
  );
  const physical = kept.find(({ id }) => id === type);
  if (physical?.bytes[0] !== zigzag(INT96)) return kept;
  const rest = kept.filter(({ id }) => id !== type && id !== typeLength);
  const i32 = (id: number, value: number) => ({ id, type: THRIFT.i32, bytes: Uint8Array.of(zigzag(value)) });
  return [i32(type, FIXED_LEN_BYTE_ARRAY), i32(typeLength, INT96_BYTES), ...rest];
}

/** Fields in rising order of their numbers, each less than 16 beyond the one before, as the fields of an element are. */
function encodeFields(fields: readonly EncodedField[]): Buffer {
  const ordered = [...fields].sort((a, b) => a.id - b.id);
  const byteChunks = ordered.flatMap(({ id, type, bytes }, i) => [
    Uint8Array.of(((id - (ordered[i - 1]?.id ?? 0)) << 4) | type),
    bytes,
  ]);
  return Buffer.concat([...byteChunks, Uint8Array.of(0)]);
}

/** Of small numbers that are not negative: one byte. */
function zigzag(value: number): number {
  return value * 2;
}

interface Field {
  readonly id: number;
  readonly type: number;
  /** Where its value begins and ends. */
  readonly start: number;
  readonly end: number;
}

/** Walks over Thrift values without looking into more of them than it must. */
class CompactReader {
  readonly #bytes: Buffer;
  at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** The fields of the struct that begins here; afterwards, `at` is behind it. */
  fields(depth: number): readonly Field[] {
    const fields: Field[] = [];
    let id = 0;
    for (;;) {
      const header = this.#byte();
      if (header === 0) return fields;
      const type = header & 15;
      if (header >> 4 === 0) {
        const encoded = this.#varint();
        id = encoded % 2 === 0 ? encoded / 2 : -(encoded + 1) / 2;
      } else id += header >> 4;
      const start = this.at;
      this.#skip(type, depth + 1);
      fields.push({ id, type, start, end: this.at });
    }
  }

  listHeader(): { readonly size: number; readonly type: number } {
    const header = this.#byte();
    const size = header >> 4;
    return { size: size === 15 ? this.#varint() : size, type: header & 15 };
  }

  #skip(type: number, depth: number): void {
    if (depth > DEPTH_MAX) throw notAFooter();
    if (type === THRIFT.struct) this.fields(depth);
    else if (type === THRIFT.list || type === THRIFT.set) {
      const list = this.listHeader();
      for (let i = 0; i < list.size; i += 1) this.#skipElement(list.type, depth);
    } else if (type === THRIFT.map) {
      const size = this.#varint();
      const types = size === 0 ? 0 : this.#byte();
      for (let i = 0; i < size; i += 1) {
        this.#skipElement(types >> 4, depth);
        this.#skipElement(types & 15, depth);
      }
    } else if (type === THRIFT.binary) this.#advance(this.#varint());
    else if (type === THRIFT.double) this.#advance(8);
    else if (type === THRIFT.byte) this.#advance(1);
    else if (type > THRIFT.byte && type <= THRIFT.i64) this.#varint();
    else if (type > THRIFT.struct || type === 0) throw notAFooter();
  }

  /** A boolean within a list takes a byte; as a field, its type says its value. */
  #skipElement(type: number, depth: number): void {
    if (type <= THRIFT.false) this.#advance(1);
    else this.#skip(type, depth + 1);
  }

  #varint(): number {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#byte();
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
    throw notAFooter();
  }

  #byte(): number {
    const byte = this.#bytes[this.at];
    if (byte === undefined) throw notAFooter();
    this.at += 1;
    return byte;
  }

  #advance(count: number): void {
    this.at += count;
    if (this.at > this.#bytes.length) throw notAFooter();
  }
}

function notAFooter(): PublishError {
  return new PublishError('the Parquet file cannot be read: its footer is damaged');
}
