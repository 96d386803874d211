/** Sees whether an answer is whole: a proxy may end one early, as if that were its end. */

const [QUOTE, LINE_END, BACKSLASH] = [0x22, 0x0a, 0x5c];
const [LIST, LIST_END, OBJECT, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Takes the bytes of an answer, one chunk after the other. */
interface Whole {
  add(chunk: Uint8Array): void;
  /** What is missing at the end of all; undefined if nothing is. */
  missing(): string | undefined;
}

/** @param rowCount as the service's header says it; null where it does not know */
export function wholeAnswer(type: string, rowCount: string | null): Whole {
  if (type === 'application/json') return new WholeJson();
  return new WholeLines(type === 'text/csv', rowCount);
}

class WholeLines implements Whole {
  readonly #isCsv: boolean;
  readonly #rowCount: string | null;
  #lines = 0;
  #isQuoted = false;

  constructor(isCsv: boolean, rowCount: string | null) {
    this.#isCsv = isCsv;
    this.#rowCount = rowCount;
  }

  add(chunk: Uint8Array): void {
    let [lines, isQuoted] = [this.#lines, this.#isQuoted];
    // The line ends in texts of NDJSON are escaped.
    const quote = this.#isCsv ? QUOTE : undefined;
    for (const byte of chunk) {
      if (byte === quote) isQuoted = !isQuoted;
      else if (byte === LINE_END && !isQuoted) lines += 1;
    }
    [this.#lines, this.#isQuoted] = [lines, isQuoted];
  }

  missing(): string | undefined {
    const rows = this.#lines - (this.#isCsv ? 1 : 0);
    if (this.#rowCount === null || rows === Number(this.#rowCount)) return undefined;
    return `${Math.max(0, rows)} rows have come, of ${this.#rowCount} that it has`;
  }
}

class WholeJson implements Whole {
  #depth = 0;
  #isText = false;
  #isEscaped = false;
  #isEmpty = true;

  add(chunk: Uint8Array): void {
    this.#isEmpty &&= chunk.byteLength === 0;
    let [depth, isText, isEscaped] = [this.#depth, this.#isText, this.#isEscaped];
    for (const byte of chunk) {
      if (isEscaped) isEscaped = false;
      else if (byte === BACKSLASH) isEscaped = true;
      else if (byte === QUOTE) isText = !isText;
      else if (isText) continue;
      else if (byte === LIST || byte === OBJECT) depth += 1;
      else if (byte === LIST_END || byte === OBJECT_END) depth -= 1;
    }
    [this.#depth, this.#isText, this.#isEscaped] = [depth, isText, isEscaped];
  }

  missing(): string | undefined {
    return this.#depth === 0 && !this.#isEmpty ? undefined : 'it has no end';
  }
}
