/** The header line of a CSV file: the delimiter and the column names (RFC 4180; a byte order mark is skipped). */
import { open } from 'node:fs/promises';
import { checkNames } from './column-names.ts';
import { PublishError } from './publish-error.ts';

/** A header longer than this is no header: the file is something else. */
const HEADER_BYTES_MAX = 1024 * 1024;

export interface CsvHeader {
  readonly delimiter: string;
  readonly names: readonly string[];
}

/** @throws PublishError when there is no header line, or two columns have one name. */
export async function readCsvHeader(path: string): Promise<CsvHeader> {
  await using file = await open(path, 'r');
  const buffer = Buffer.alloc(HEADER_BYTES_MAX);
  const { bytesRead } = await file.read(buffer, 0, HEADER_BYTES_MAX, 0);
  const bytes = buffer.subarray(0, bytesRead);
  if (
    bytes.subarray(0, 2).equals(Buffer.from([0xff, 0xfe])) ||
    bytes.subarray(0, 2).equals(Buffer.from([0xfe, 0xff]))
  ) {
    throw new PublishError('the file is UTF-16 text, expected UTF-8');
  }
  return parseCsvHeader(bytes.toString('utf8').replace(/^\ufeff/, ''), bytesRead < HEADER_BYTES_MAX);
}

/** @param whole whether the text ends where the file ends */
export function parseCsvHeader(text: string, whole: boolean): CsvHeader {
  if (text === '') throw new PublishError('line 1: the file is empty, expected a header line of column names');
  const comma = splitRecord(text, ',', whole);
  // Another delimiter only when no comma could be meant.
  const other = [';', '\t'].find((d) => comma.length === 1 && splitRecord(text, d, whole).length > 1);
  const delimiter = other ?? ',';
  const names = (other === undefined ? comma : splitRecord(text, other, whole)).map((name, i) =>
    // A row index written without a name, as data frames do.
    name === '' ? `column_${i + 1}` : name,
  );
  checkNames(names, 'line 1: ');
  return { delimiter, names };
}

function splitRecord(text: string, delimiter: string, whole: boolean): readonly string[] {
  const fields: string[] = [];
  let field = '';
  let quoted = false;
  let start = true;
  for (let at = 0; at < text.length; at += 1) {
    const mark = text[at];
    if (quoted) {
      if (mark !== '"') field += mark;
      else if (text[at + 1] === '"') {
        field += '"';
        at += 1;
      } else quoted = false;
    } else if (mark === '"' && start) quoted = true;
    else if (mark === delimiter) {
      fields.push(field);
      field = '';
      start = true;
      continue;
    } else if (mark === '\n' || mark === '\r') return [...fields, field];
    else field += mark;
    start = false;
  }
  if (quoted) throw new PublishError('line 1: a quoted column name does not end');
  if (!whole) throw new PublishError(`line 1: longer than ${HEADER_BYTES_MAX} bytes, expected a header line`);
  return [...fields, field];
}
