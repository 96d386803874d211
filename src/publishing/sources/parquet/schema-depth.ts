/**
 * Looks into the footer of a Parquet file before DuckDB does: DuckDB walks over the schema by recursion, and one that is nested some ten thousand deep ends the
 * process.
 */
import { open } from 'node:fs/promises';
import { COLUMN_TYPE_DEPTH_MAX } from '../../../domain/column-type.ts';
import { FooterTooLong, FooterTurns, readParquetFooter } from '../../../files/parquet-footer.ts';
import { type Field, THRIFT, ThriftDamaged, ThriftReader } from '../../../files/thrift.ts';
import { PublishError } from '../../publish-error.ts';
import { FILE_SCHEMA, notAFooter } from './parquet-footer.ts';

/** Field numbers of parquet.thrift. */
const ELEMENT = { name: 4, children: 5 };
/** A list or map within another is two levels below it, and a column is one below the root. */
const LEVELS_MAX = 1 + 2 * COLUMN_TYPE_DEPTH_MAX;
/** That of a million column chunks takes less; DuckDB would take many times as much memory for it. */
const FOOTER_BYTES_MAX = 256 * 1024 * 1024;

/**
 * What has no footer is left to DuckDB, which says so.
 * @throws PublishError naming the first column that is nested too deep, or when the footer is damaged or too long; the signal's reason
 */
export async function checkSchemaDepth(path: string, signal: AbortSignal): Promise<void> {
  await using file = await open(path, 'r');
  try {
    const found = await readParquetFooter(file, FOOTER_BYTES_MAX);
    if (found !== undefined) await walk(found.footer, signal);
  } catch (error) {
    if (error instanceof FooterTooLong) {
      throw new PublishError(`the Parquet file cannot be read: its footer is longer than ${FOOTER_BYTES_MAX} bytes`);
    }
    throw error instanceof ThriftDamaged ? notAFooter() : error;
  }
}

/** To the footer's end: of a field that is there twice, DuckDB takes the second. */
async function walk(footer: Buffer, signal: AbortSignal): Promise<void> {
  const reader = new ThriftReader(footer);
  const turns = new FooterTurns(signal);
  for (let id = 0; ; ) {
    const field = reader.fieldHeader(id);
    if (field === undefined) return;
    id = field.id;
    if (field.type !== THRIFT.list) {
      reader.skip(field.type);
      continue;
    }
    const list = reader.listHeader();
    const schema = id === FILE_SCHEMA && list.type === THRIFT.struct ? new SchemaLevels(footer) : undefined;
    for (let index = 0; index < list.size; index += 1) {
      await turns.at(reader);
      if (schema === undefined) reader.skipElement(list.type);
      else schema.take(reader.fields());
    }
  }
}

/** The elements of a schema stand in depth-first order, each with the number of its children. */
class SchemaLevels {
  readonly #footer: Buffer;
  /** Of the element that comes next and each one above it: how many of its kind are still to come. */
  readonly #remaining: number[] = [1];
  #column = '';

  constructor(footer: Buffer) {
    this.#footer = footer;
  }

  take(element: readonly Field[]): void {
    while (this.#remaining.at(-1) === 0) this.#remaining.pop();
    const level = this.#remaining.length - 1;
    if (level === 1) this.#column = this.#nameOf(element);
    if (level > LEVELS_MAX) {
      throw new PublishError(
        `column ${JSON.stringify(this.#column)} is nested more than ${COLUMN_TYPE_DEPTH_MAX} deep`,
      );
    }
    if (level >= 0) this.#remaining[level] = (this.#remaining[level] ?? 0) - 1;
    const children = element.findLast(({ id, type }) => id === ELEMENT.children && type === THRIFT.i32);
    const count = children === undefined ? 0 : this.#at(children).integer();
    if (count > 0) this.#remaining.push(count);
  }

  #nameOf(element: readonly Field[]): string {
    const name = element.findLast(({ id, type }) => id === ELEMENT.name && type === THRIFT.binary);
    return name === undefined ? '' : this.#at(name).binary().toString();
  }

  #at({ start }: Field): ThriftReader {
    const reader = new ThriftReader(this.#footer);
    reader.at = start;
    return reader;
  }
}
