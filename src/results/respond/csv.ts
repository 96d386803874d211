/** The answer as CSV: a line of names, and a line for each row. */
import { csvName } from '../../duckdb/csv-quoting.ts';
import { ROW_SEPARATOR } from '../compile/row-encoding.ts';
import type { ByteChunks } from '../read/byte-chunks.ts';
import type { SourceWithRows } from './answer-source.ts';

const BYTE_ORDER_MARK = '\ufeff';

/** One segment for each chunk, and one for the last line's end. */
export async function* encodeCsv({ page, spelling, chunks }: SourceWithRows): AsyncGenerator<ByteChunks> {
  const isSpreadsheet = spelling === 'spreadsheet';
  const names = page.columns.map((column) => csvName(column.name, isSpreadsheet)).join(',');
  // Without a byte order mark Excel reads UTF-8 in the encoding of the machine.
  const header = `${isSpreadsheet ? BYTE_ORDER_MARK : ''}${names}\n`;
  let head = header;
  for await (const chunk of chunks) {
    yield [Buffer.from(head), ...chunk.byteChunks];
    head = ROW_SEPARATOR.csv;
  }
  yield [Buffer.from(head === header ? header : '\n')];
}
