/**
 * Cuts a Parquet file that DuckDB has written between its row groups, into files of their own. The bytes of row groups are copied as they are,
 * which takes much less than reading the rows and writing them again. Only the footer, which says where they lie, is made anew for each
 * file. https://parquet.apache.org/docs/file-format/metadata/
 */
import { type FileHandle, open } from 'node:fs/promises';
import { sumOf } from '../../../domain/sum-of.ts';
import { type WrittenFile, writtenFile } from '../../../files/file-state.ts';
import { FooterTurns, PARQUET_MARK, readParquetFooter, withParquetTail } from '../../../files/parquet-footer.ts';
import {
  type EncodedField,
  encodeInteger,
  encodeStruct,
  encodeStructs,
  type Field,
  THRIFT,
  ThriftReader,
} from '../../../files/thrift.ts';

/** Field numbers of parquet.thrift: of FileMetaData, RowGroup, ColumnChunk and ColumnMetaData. */
const FILE = { rowCount: 3, rowGroups: 4 };
const GROUP = { columns: 1, rowCount: 3, fileOffset: 5, ordinal: 7 };
const CHUNK = { fileOffset: 2, metadata: 3 };
const METADATA = { compressedBytes: 7, dataPage: 9, dictionaryPage: 11 };
/** What lies elsewhere in the file than the pages: an index of pages, a bloom filter, indexes of columns and offsets. We write none. */
const METADATA_REFUSED: ReadonlySet<number> = new Set([10, 14]);
const CHUNK_REFUSED: ReadonlySet<number> = new Set([4, 6]);

const COPY_BYTES = 4 * 1024 * 1024;

export interface CutFile extends WrittenFile {
  readonly rowCount: number;
}

/**
 * @param rowsMax of each file; a row group with more rows is a file by itself
 * @param pathOf where the n-th file is written; there is none yet
 * @returns the files in the order of their rows, none of them empty
 * @throws Error where the file is not as we write them; the signal's reason; the filesystem's error
 */
export async function cutRowGroups(
  source: FileHandle,
  rowsMax: number,
  pathOf: (file: number) => string,
  signal: AbortSignal,
): Promise<readonly CutFile[]> {
  const found = await readParquetFooter(source);
  if (found === undefined) throw notAsWritten('it has no footer');
  const turns = new FooterTurns(signal);
  const footer = await readGroups(found.footer, turns);
  const files: CutFile[] = [];
  let start = PARQUET_MARK.length;
  for (const groups of partition(footer.groups, rowsMax)) {
    const path = pathOf(files.length);
    await using file = await open(path, 'wx', 0o600);
    const moved = new MovedGroups(found.footer, start);
    for (const group of groups) await moved.add(group, turns);
    await file.writeFile(PARQUET_MARK);
    await copyBytes(source, file, start, moved.end, signal);
    const rowCount = sumOf(groups, 'rowCount');
    await file.writeFile(withParquetTail(encodeStruct([...footer.about, ...moved.fields(rowCount)])));
    files.push({ rowCount, ...(await writtenFile(path, file)) });
    start = moved.end;
  }
  return files;
}

interface RowGroup {
  readonly rowCount: number;
  /** Within the footer. */
  readonly fields: readonly Field[];
}

interface GroupsOfFile {
  /** The fields of the footer that do not depend on the rows. */
  readonly about: readonly EncodedField[];
  readonly groups: readonly RowGroup[];
}

async function readGroups(footer: Buffer, turns: FooterTurns): Promise<GroupsOfFile> {
  const reader = new ThriftReader(footer);
  const about: EncodedField[] = [];
  const groups: RowGroup[] = [];
  for (let id = 0; ; ) {
    const field = reader.fieldHeader(id);
    if (field === undefined) return { about, groups };
    id = field.id;
    if (id === FILE.rowGroups) {
      const { size } = reader.listHeader();
      for (let group = 0; group < size; group += 1) {
        await turns.at(reader);
        const fields = reader.fields();
        groups.push({ fields, rowCount: integerIn(footer, fields, GROUP.rowCount) });
      }
      continue;
    }
    const start = reader.at;
    reader.skip(field.type);
    if (id !== FILE.rowCount) about.push({ ...field, bytes: footer.subarray(start, reader.at) });
  }
}

/** Runs of row groups with at most so many rows together, but at least one row group. */
function partition(groups: readonly RowGroup[], rowsMax: number): readonly (readonly RowGroup[])[] {
  const runs: RowGroup[][] = [];
  let rows = Number.POSITIVE_INFINITY;
  for (const group of groups) {
    rows += group.rowCount;
    if (rows > rowsMax) {
      runs.push([]);
      rows = group.rowCount;
    }
    runs.at(-1)?.push(group);
  }
  return runs;
}

/** Row groups that follow one another, and are to stand at the beginning of a file. */
class MovedGroups {
  readonly #footer: Buffer;
  /** How far they move towards the beginning. */
  readonly #by: number;
  readonly #encoded: Buffer[] = [];
  /** Behind their last byte, in the file that they are in. */
  end: number;

  /** @param start where they begin in the file that they are in */
  constructor(footer: Buffer, start: number) {
    this.#footer = footer;
    this.#by = start - PARQUET_MARK.length;
    this.end = start;
  }

  async add({ fields }: RowGroup, turns: FooterTurns): Promise<void> {
    const columns = fields.find(({ id }) => id === GROUP.columns);
    if (columns === undefined) throw notAsWritten('a row group has no columns');
    const reader = new ThriftReader(this.#footer);
    reader.at = columns.start;
    const { size } = reader.listHeader();
    const chunks: Buffer[] = [];
    const from = this.end;
    for (let column = 0; column < size; column += 1) {
      await turns.at(reader);
      chunks.push(this.#chunk(reader.fields(), from));
    }
    const encodedColumns = { id: GROUP.columns, type: THRIFT.list, bytes: encodeStructs(chunks) };
    // Both are optional: where the group lies its columns say, and its number nobody needs.
    const kept = this.#copied(fields, [GROUP.columns, GROUP.fileOffset, GROUP.ordinal]);
    this.#encoded.push(encodeStruct([encodedColumns, ...kept]));
  }

  /** Of a footer. */
  fields(rowCount: number): readonly EncodedField[] {
    return [
      { id: FILE.rowCount, type: THRIFT.i64, bytes: encodeInteger(rowCount) },
      { id: FILE.rowGroups, type: THRIFT.list, bytes: encodeStructs(this.#encoded) },
    ];
  }

  #chunk(fields: readonly Field[], from: number): Buffer {
    const metadata = fields.find(({ id }) => id === CHUNK.metadata);
    if (metadata === undefined || fields.some(({ id }) => CHUNK_REFUSED.has(id))) {
      throw notAsWritten('a column has more than its pages, or says nothing of them');
    }
    const reader = new ThriftReader(this.#footer);
    reader.at = metadata.start;
    const encoded = { id: CHUNK.metadata, type: THRIFT.struct, bytes: this.#metadata(reader.fields(), from) };
    // Deprecated, and required: a number that nobody reads.
    const fileOffset = { id: CHUNK.fileOffset, type: THRIFT.i64, bytes: encodeInteger(0) };
    return encodeStruct([fileOffset, encoded, ...this.#copied(fields, [CHUNK.fileOffset, CHUNK.metadata])]);
  }

  #metadata(fields: readonly Field[], from: number): Buffer {
    if (fields.some(({ id }) => METADATA_REFUSED.has(id))) throw notAsWritten('a column has more than its pages');
    const dataPage = integerIn(this.#footer, fields, METADATA.dataPage);
    const hasDictionary = fields.some(({ id }) => id === METADATA.dictionaryPage);
    const dictionaryPage = hasDictionary ? integerIn(this.#footer, fields, METADATA.dictionaryPage) : 0;
    const start = dictionaryPage > 0 ? Math.min(dictionaryPage, dataPage) : dataPage;
    if (start < from) throw notAsWritten('its row groups do not follow one another');
    this.end = Math.max(this.end, start + integerIn(this.#footer, fields, METADATA.compressedBytes));
    const moved = (id: number, offset: number) => ({ id, type: THRIFT.i64, bytes: encodeInteger(offset - this.#by) });
    return encodeStruct([
      ...this.#copied(fields, [METADATA.dataPage, METADATA.dictionaryPage]),
      moved(METADATA.dataPage, dataPage),
      ...(dictionaryPage > 0 ? [moved(METADATA.dictionaryPage, dictionaryPage)] : []),
    ]);
  }

  #copied(fields: readonly Field[], without: readonly number[]): readonly EncodedField[] {
    const kept = fields.filter(({ id }) => !without.includes(id));
    return kept.map(({ id, type, start, end }) => ({ id, type, bytes: this.#footer.subarray(start, end) }));
  }
}

async function copyBytes(source: FileHandle, to: FileHandle, from: number, end: number, signal: AbortSignal) {
  const buffer = Buffer.allocUnsafe(COPY_BYTES);
  for (let at = from; at < end; ) {
    signal.throwIfAborted();
    const { bytesRead } = await source.read(buffer, 0, Math.min(COPY_BYTES, end - at), at);
    if (bytesRead === 0) throw notAsWritten('it ends before its row groups do');
    await to.writeFile(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
}

function integerIn(footer: Buffer, fields: readonly Field[], wanted: number): number {
  const field = fields.find(({ id }) => id === wanted);
  if (field === undefined) throw notAsWritten(`field ${wanted} is missing in its footer`);
  const reader = new ThriftReader(footer);
  reader.at = field.start;
  return reader.integer();
}

function notAsWritten(what: string): Error {
  return new Error(`a Parquet file that DuckDB has just written is not as expected: ${what}`);
}
