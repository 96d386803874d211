/** The header line of a CSV file: the delimiter and the column names (RFC 4180; a byte order mark is skipped). */
import { open } from 'node:fs/promises';
import { PublishError } from '../../publish-error.ts';
import { checkCount, checkNames } from '../column-names.ts';

/** A header longer than this is no header: the file is something else. */
const HEADER_BYTES_MAX = 1024 * 1024;

/** A first line that says what separates the fields, as Excel takes it. */
const FOR_SPREADSHEETS = /^sep=[,;|\t](?=[\r\n])/i;

/** @param where as `line 2: ` */
export function notUtf8(where: string): PublishError {
  const remedy = { say: 'encoding', examples: ['latin-1', 'windows-1252', 'utf-16'] } as const;
  return new PublishError(`${where}the text is not UTF-8: say what it is, or save it as UTF-8`, { remedy });
}

export interface CsvHeader {
  readonly delimiter: string;
  readonly names: readonly string[];
}

/** @throws PublishError when there is no header line, or two columns have one name. */
export async function readCsvHeader(path: string, delimiter?: string): Promise<CsvHeader> {
  await using file = await open(path, 'r');
  const buffer = Buffer.alloc(HEADER_BYTES_MAX);
  const { bytesRead } = await file.read(buffer, 0, HEADER_BYTES_MAX, 0);
  const bytes = buffer.subarray(0, bytesRead);
  const text = bytes.toString('utf8').replace(/^\ufeff/, '');
  const whole = bytesRead < HEADER_BYTES_MAX;
  const header = parseCsvHeader(text, whole, delimiter);
  // Bytes that are no UTF-8 became U+FFFD: such a name does not stand in the file. A quote inside may be doubled there.
  const isForeign = (name: string) => name.includes('\ufffd') && name.split('"').some((text) => !bytes.includes(text));
  if (header.names.some(isForeign)) throw notUtf8('line 1: ');
  return header;
}

/**
 * @param whole whether the text ends where the file ends
 * @param said the delimiter, where it was said
 */
function parseCsvHeader(text: string, whole: boolean, said?: string): CsvHeader {
  const problem = said === undefined ? undefined : delimiterProblem(said);
  if (problem !== undefined) throw new PublishError(problem);
  if (text === '') throw new PublishError('line 1: the file is empty, expected a header line of column names');
  const forSpreadsheets = FOR_SPREADSHEETS.exec(text)?.[0];
  if (forSpreadsheets !== undefined) {
    throw new PublishError(
      `line 1: ${JSON.stringify(forSpreadsheets)} is read by spreadsheets alone, expected a header line of column names: leave that line out`,
    );
  }
  const comma = splitRecord(text, said ?? ',', whole);
  // Another delimiter only when no comma could be meant.
  const other = (said === undefined ? [';', '\t'] : []).find(
    (d) => comma.length === 1 && splitRecord(text, d, whole).length > 1,
  );
  const delimiter = other ?? said ?? ',';
  const names = (other === undefined ? comma : splitRecord(text, other, whole)).map((name, i) =>
    // A row index written without a name, as data frames do.
    name === '' ? `column_${i + 1}` : name,
  );
  // One column may have the name "", in quotes; a blank line says nothing of columns.
  if (names.length === 1 && /^[ \t]*(?:[\r\n]|$)/.test(text)) {
    throw new PublishError('line 1: the line is empty, expected a header line of column names');
  }
  checkNames(names, 'line 1: ');
  return { delimiter, names };
}

/** The fields of the first record. What lies between two marks is taken as a whole, since a header may have a megabyte. */
function splitRecord(text: string, delimiter: string, whole: boolean): readonly string[] {
  const fields: string[] = [];
  const ends = new RegExp(`[\\n\\r${delimiter === '\t' ? '\\t' : `\\${delimiter}`}]`, 'g');
  let at = 0;
  for (;;) {
    let field = '';
    if (text[at] === '"') {
      const [quoted, after] = unquoted(text, at);
      field = quoted;
      at = after;
    }
    ends.lastIndex = at;
    const end = ends.exec(text)?.index;
    fields.push(field + text.slice(at, end));
    checkCount(fields.length, 'line 1: ');
    if (end === undefined) break;
    if (text[end] !== delimiter) return fields;
    at = end + 1;
  }
  if (!whole) throw new PublishError(`line 1: longer than ${HEADER_BYTES_MAX} bytes, expected a header line`);
  return fields;
}

/** @param start of its first quote @returns what is in the quotes, and where the text behind them begins */
function unquoted(text: string, start: number): readonly [string, number] {
  let field = '';
  let from = start + 1;
  for (;;) {
    const quote = text.indexOf('"', from);
    if (quote < 0) throw new PublishError('line 1: a quoted column name does not end');
    field += text.slice(from, quote);
    if (text[quote + 1] !== '"') return [field, quote + 1];
    field += '"';
    from = quote + 2;
  }
}

/** What keeps a text from being the delimiter, as a sentence; undefined: nothing. */
export function delimiterProblem(delimiter: string): string | undefined {
  if (/^[\t\x20-\x7e]$/.test(delimiter) && !/["0-9A-Za-z]/.test(delimiter)) return undefined;
  return `A delimiter is one character that is no letter, digit or double quote, or tab; ${JSON.stringify(delimiter)} is none.`;
}
