/**
 * Edits the schema in a Parquet file's footer, so that DuckDB reads chosen leaves (columns, or what lies within them) as the
 * bytes or whole numbers that they physically are. It would round some of them on its own: a decimal of more than 38 digits
 * becomes a double, nanoseconds become microseconds.
 *
 * The footer is a Thrift struct in the compact protocol: https://parquet.apache.org/docs/file-format/metadata/. Only its list of
 * schema elements is taken apart and put together again; all other bytes stay as they are.
 */
import { constants } from 'node:fs';
import { chmod, copyFile, open } from 'node:fs/promises';
import { readParquetFooter, withParquetTail } from '../../../files/parquet-footer.ts';
import {
  type EncodedField,
  encodeInteger,
  encodeStruct,
  type Field,
  THRIFT,
  ThriftDamaged,
  ThriftReader,
} from '../../../files/thrift.ts';
import { writeAll } from '../../../files/write-all.ts';
import { PublishError } from '../../publish-error.ts';

/** Field numbers of parquet.thrift. */
export const FILE_SCHEMA = 2;
const ELEMENT = { type: 1, typeLength: 2, children: 5, convertedType: 6, scale: 7, precision: 8, logicalType: 10 };
const INT96 = 3;
const FIXED_LEN_BYTE_ARRAY = 7;
const INT96_BYTES = 12;

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
  const found = await readParquetFooter(file);
  if (found === undefined) throw notAFooter();
  const { footer, start } = found;
  const end = withParquetTail(editSchema(footer, leaves));
  await file.truncate(start);
  await writeAll(file, end, start);
}

function editSchema(footer: Buffer, leaves: ReadonlySet<number>): Buffer {
  try {
    return bareLeaves(footer, leaves);
  } catch (error) {
    throw error instanceof ThriftDamaged ? notAFooter() : error;
  }
}

function bareLeaves(footer: Buffer, leaves: ReadonlySet<number>): Buffer {
  const reader = new ThriftReader(footer);
  // The row groups come behind the schema. There may be very many, and none is looked at.
  for (let id = 0; id !== FILE_SCHEMA; ) {
    const field = reader.fieldHeader(id);
    if (field === undefined) throw notAFooter();
    id = field.id;
    if (id !== FILE_SCHEMA) reader.skip(field.type);
  }
  const elements = reader.listHeader();
  const byteChunks = [footer.subarray(0, reader.at)];
  let leaf = -1;
  for (let index = 0; index < elements.size; index += 1) {
    const start = reader.at;
    const fields = reader.fields();
    const isLeaf = index > 0 && !fields.some(({ id, start: at }) => id === ELEMENT.children && footer[at] !== 0);
    if (isLeaf) leaf += 1;
    const bare = isLeaf && leaves.has(leaf);
    byteChunks.push(bare ? encodeStruct(bareElement(fields, footer)) : footer.subarray(start, reader.at));
  }
  return Buffer.concat([...byteChunks, footer.subarray(reader.at)]);
}

function bareElement(fields: readonly Field[], footer: Buffer): readonly EncodedField[] {
  const { type, typeLength, convertedType, scale, precision, logicalType } = ELEMENT;
  const dropped = new Set([convertedType, scale, precision, logicalType]);
  const kept = fields.flatMap((field): EncodedField[] =>
    dropped.has(field.id) ? [] : [{ id: field.id, type: field.type, bytes: footer.subarray(field.start, field.end) }],
  );
  const physical = kept.find(({ id }) => id === type);
  if (physical?.bytes[0] !== encodeInteger(INT96)[0]) return kept;
  const rest = kept.filter(({ id }) => id !== type && id !== typeLength);
  const i32 = (id: number, value: number) => ({ id, type: THRIFT.i32, bytes: encodeInteger(value) });
  return [i32(type, FIXED_LEN_BYTE_ARRAY), i32(typeLength, INT96_BYTES), ...rest];
}

export function notAFooter(): PublishError {
  return new PublishError('the Parquet file cannot be read: its footer is damaged');
}
