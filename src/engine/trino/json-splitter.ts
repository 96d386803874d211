/**
 * Takes the rows out of an answer of the coordinator while it arrives. Rows are the list under `data`; their bytes are kept as they came,
 * since JSON.parse would round the digits in them and hold the event loop for large answers. What is left is small and can be parsed.
 */
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const ROWS_KEY = '"data"';
/** What stands in the place of the rows. */
const TAKEN_OUT = Buffer.from('null');

export interface SplitAnswer {
  /** The answer without its rows, as JSON. */
  readonly envelope: string;
  /** The bytes of the list of rows, brackets included; undefined where the answer has none. */
  readonly rows: Buffer | undefined;
  readonly rowCount: number;
}

export class JsonSplitter {
  readonly #envelope: Uint8Array[] = [];
  readonly #rows: Uint8Array[] = [];
  #depth = 0;
  #inString = false;
  #escaped = false;
  /** The last string of the outermost object, quotes included, as long as it may be the key. */
  #key = '';
  #isKey = false;
  #inRows = false;
  #rowCount = 0;

  /** Each byte is looked at once: 64 KB take less than a millisecond. */
  push(chunk: Uint8Array): void {
    let from = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      if (this.#inString) {
        this.#stringByte(byte);
        continue;
      }
      if (byte === QUOTE) {
        this.#inString = true;
        if (this.#depth === 1) this.#key = '"';
      } else if (byte === COLON) {
        this.#isKey = this.#depth === 1 && this.#key === ROWS_KEY;
      } else if (byte === COMMA) {
        if (this.#depth === 1) this.#isKey = false;
      } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
        if (this.#isKey && this.#depth === 1 && byte === OPEN_LIST) {
          this.#envelope.push(chunk.subarray(from, at), TAKEN_OUT);
          from = at;
          this.#inRows = true;
        } else if (this.#inRows && this.#depth === 2) this.#rowCount += 1;
        this.#depth += 1;
      } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
        this.#depth -= 1;
        if (!this.#inRows || this.#depth !== 1) continue;
        this.#rows.push(chunk.subarray(from, at + 1));
        from = at + 1;
        this.#inRows = false;
        this.#isKey = false;
      }
    }
    (this.#inRows ? this.#rows : this.#envelope).push(chunk.subarray(from));
  }

  #stringByte(byte: number): void {
    if (this.#depth === 1 && this.#key.length <= ROWS_KEY.length) this.#key += String.fromCharCode(byte);
    if (this.#escaped) this.#escaped = false;
    else if (byte === BACKSLASH) this.#escaped = true;
    else if (byte === QUOTE) this.#inString = false;
  }

  finish(): SplitAnswer {
    return {
      envelope: Buffer.concat(this.#envelope).toString(),
      rows: this.#rows.length === 0 ? undefined : Buffer.concat(this.#rows),
      rowCount: this.#rowCount,
    };
  }
}
