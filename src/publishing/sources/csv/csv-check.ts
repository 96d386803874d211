/**
 * Holds a CSV file against RFC 4180, byte by byte, where DuckDB is lenient and would drop something without a word: an empty
 * field too many at the end of a row, blanks around a field in quotes, an empty line among rows of several columns; for NUL, which it takes; and for rows
 * that do not fit into its buffer, which it drops or fails at. Runs beside the conversion, at about a nanosecond a byte.
 *
 * Allowed: empty lines at the end of the file, and a quote inside of a field that does not begin with one (it is text).
 */
import { open } from 'node:fs/promises';
import { letOthersRun } from '../../../domain/time.ts';
import { PublishError } from '../../publish-error.ts';

/** The longest row that is read, in bytes with its line end. */
export const ROW_BYTES_MAX = 16 * 1024 * 1024;

export const TOO_LONG = `a row is longer than ${ROW_BYTES_MAX} bytes`;

/** Of which every byte may be a delimiter: then they take some milliseconds. */
const CHUNK_BYTES = 256 * 1024;

const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;
const BLANK = 0x20;

/** Where the check stands between two bytes. */
const AT_FIELD = 0;
const IN_BLANKS = 1;
const IN_FIELD = 2;
const IN_QUOTES = 3;
const AFTER_QUOTE = 4;

export interface CheckedCsv {
  /** That follow the header. */
  readonly rows: number;
  /** Whether rows end in more than one way, such as LF and CRLF: RFC 4180 has no such file, and DuckDB reads some. */
  readonly endsDiffer: boolean;
}

/**
 * @param fieldCount of the header; every row must have as many
 * @throws PublishError naming the first line that is not so; the signal's reason once it is aborted
 */
export async function checkCsv(
  path: string,
  delimiter: string,
  fieldCount: number,
  signal: AbortSignal,
): Promise<CheckedCsv> {
  await using file = await open(path, 'r');
  const check = new CsvCheck(delimiter.charCodeAt(0), fieldCount);
  const buffer = Buffer.allocUnsafe(Math.max(1, Math.min(CHUNK_BYTES, (await file.stat()).size)));
  for (let start = true; ; start = false) {
    signal.throwIfAborted();
    const { bytesRead } = await file.read(buffer, 0, buffer.length, null);
    if (bytesRead === 0) break;
    const hasMark = start && buffer.subarray(0, 3).equals(Buffer.from('\ufeff'));
    const bytes = buffer.subarray(hasMark ? 3 : 0, bytesRead);
    const nul = bytes.indexOf(0);
    check.read(nul < 0 ? bytes : bytes.subarray(0, nul));
    if (nul >= 0) check.refuseNul();
    await letOthersRun();
  }
  check.end();
  return { rows: check.rows, endsDiffer: check.endsDiffer };
}

class CsvCheck {
  readonly #delimiter: number;
  readonly #fieldCount: number;
  /** 1 for each byte that can change the state within a field. */
  readonly #special = new Uint8Array(256);
  #state: number = AT_FIELD;
  #fields = 0;
  /** Ended so far, the header among them. */
  #records = 0;
  /** Where the row began, from the first of the bytes that are being read. */
  #rowStart = 0;
  /** The line that the last byte stood in, and those where the row and the quoted field began. */
  #line = 1;
  #rowLine = 1;
  #begunAt = 1;
  #afterCr = false;
  #emptyLine: number | undefined;
  /** Ends of lines outside of quotes; those of CR and LF count among those of CR, too. */
  readonly #ends = { lf: 0, cr: 0, crLf: 0 };

  constructor(delimiter: number, fieldCount: number) {
    this.#delimiter = delimiter;
    this.#fieldCount = fieldCount;
    for (const byte of [delimiter, LF, CR, QUOTE]) this.#special[byte] = 1;
  }

  read(bytes: Uint8Array): void {
    this.#follow(bytes);
    this.#rowStart -= bytes.length;
  }

  #follow(bytes: Uint8Array): void {
    const special = this.#special;
    const length = bytes.length;
    for (let at = 0; at < length; at += 1) {
      const state = this.#state;
      // Most bytes are text within a field: passed over without a look at the state.
      if (state === IN_FIELD || state === IN_QUOTES) {
        const from = at;
        while (at < length && special[bytes[at] ?? 0] === 0) at += 1;
        if (at > from) this.#afterCr = false;
        if (at === length) return;
      }
      this.#step(bytes[at] ?? 0, state, at);
    }
  }

  #step(byte: number, state: number, at: number): void {
    const afterCr = this.#afterCr;
    this.#afterCr = byte === CR;
    if (byte === LF && afterCr) {
      if (state !== IN_QUOTES) this.#ends.crLf += 1;
      return;
    }
    const ends = byte === LF || byte === CR;
    if (ends) this.#line += 1;
    if (state === IN_QUOTES) {
      if (byte === QUOTE) this.#state = AFTER_QUOTE;
    } else if (byte === this.#delimiter) {
      this.#fields += 1;
      this.#state = AT_FIELD;
    } else if (ends) {
      if (byte === LF) this.#ends.lf += 1;
      else this.#ends.cr += 1;
      this.#endRow(state === AT_FIELD, at);
      this.#state = AT_FIELD;
    } else if (state === AFTER_QUOTE) {
      if (byte !== QUOTE) this.#fail(this.#line, 'text or a blank after a closing quote');
      this.#state = IN_QUOTES;
    } else if (byte === QUOTE && state !== IN_FIELD) {
      if (state === IN_BLANKS) this.#fail(this.#line, 'a blank before an opening quote');
      this.#begunAt = this.#line;
      this.#state = IN_QUOTES;
    } else if (state !== IN_FIELD) this.#state = byte === BLANK ? IN_BLANKS : IN_FIELD;
  }

  /** The file may be damaged, or binary from here on. Among its first bytes NUL is refused before the file is opened as CSV. */
  refuseNul(): never {
    this.#fail(this.#line, 'a NUL byte, which CSV does not have: leave it out, or publish NDJSON or Parquet');
  }

  get rows(): number {
    return this.#records - 1;
  }

  get endsDiffer(): boolean {
    const { lf, cr, crLf } = this.#ends;
    return [lf, crLf, cr - crLf].filter((count) => count > 0).length > 1;
  }

  end(): void {
    if (this.#state === IN_QUOTES) this.#fail(this.#begunAt, 'a quoted field does not end');
    if (this.#state === AT_FIELD && this.#fields === 0) return;
    this.#line += 1;
    this.#endRow(false, 0);
  }

  /** @param end where its line end begins, among the bytes that are being read */
  #endRow(empty: boolean, end: number): void {
    const line = this.#line - 1;
    if (end - this.#rowStart >= ROW_BYTES_MAX) this.#fail(this.#rowLine, TOO_LONG);
    this.#rowStart = end + 1;
    this.#rowLine = this.#line;
    if (empty && this.#fields === 0 && this.#fieldCount > 1) {
      this.#emptyLine ??= line;
      return;
    }
    if (this.#emptyLine !== undefined) {
      this.#fail(this.#emptyLine, `the line is empty, expected ${this.#fieldCount} fields`);
    }
    const found = this.#fields + 1;
    if (found !== this.#fieldCount) this.#fail(line, `found ${found} fields, expected ${this.#fieldCount}`);
    this.#fields = 0;
    this.#records += 1;
  }

  #fail(line: number, problem: string): never {
    throw new PublishError(`line ${line}: ${problem}`);
  }
}
