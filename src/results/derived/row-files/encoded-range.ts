/** Rows of a part as a row file has them, in memory. */
import type { RowRange } from '../../../domain/blocks.ts';
import type { Turns } from '../../../domain/turns.ts';
import { giveBack } from '../../give-back.ts';
import type { RowTexts, TextsOfRows } from './read-row-texts.ts';
import { Readers } from './readers.ts';
import type { BlockRows } from './row-block.ts';
import type { RowTextsAbout } from './row-file-format.ts';
import { packNumbers, RowNumbers, SIZED_TABLES } from './row-numbers.ts';
import { GROUP_BYTES_MAX } from './unpack-blocks.ts';

/** Rows of which each block is taken in a moment. */
interface Block {
  /** Its first row, counted within the encoded range. */
  readonly from: number;
  readonly rowCount: number;
  readonly text: Uint8Array;
  readonly numbers: RowNumbers;
}

export class EncodedRange implements TextsOfRows {
  readonly about: RowTextsAbout;
  /** Counted within the part. */
  readonly rows: RowRange;
  readonly byteLength: number;
  readonly #blocks: readonly Block[];
  readonly #turns: Turns;
  readonly #readers: Readers;
  #isUsedUp = false;

  /** @param texts of all these rows; their memory is the encoded range's now */
  constructor(rows: RowRange, texts: RowTexts, turns: Turns) {
    this.about = texts.about;
    this.rows = rows;
    this.#blocks = [...blocksOf(texts)];
    this.#turns = turns;
    this.#readers = new Readers(() => giveBack(texts.text));
    const ofNumbers = this.#blocks.reduce((sum, { numbers }) => sum + numbers.byteLength, 0);
    this.byteLength = texts.text.byteLength + ofNumbers;
  }

  /** Whether its last row has been read: a walk has gone through it. */
  get isUsedUp(): boolean {
    return this.#isUsedUp;
  }

  reading(): Disposable | undefined {
    return this.#readers.reading();
  }

  /** Gives its memory back as soon as nobody reads it. */
  retire(): void {
    this.#readers.retire();
  }

  async *read<T>(
    from: number,
    to: number,
    take: (rows: readonly BlockRows[]) => T,
    signal: AbortSignal,
  ): AsyncGenerator<T> {
    if (to >= this.rows.to) this.#isUsedUp = true;
    const [first, last] = [from - this.rows.from, to - this.rows.from];
    const wanted = this.#blocks.filter((block) => block.from < last && block.from + block.rowCount > first);
    for (const [place, block] of wanted.entries()) {
      if (place > 0) await this.#turns.next();
      signal.throwIfAborted();
      // A copy, since others read the same rows, perhaps with another separator between them.
      const text = Buffer.allocUnsafeSlow(block.text.length);
      text.set(block.text);
      const range = { from: Math.max(0, first - block.from), to: Math.min(block.rowCount, last - block.from) };
      yield take([{ text, start: 0, numbers: block.numbers, ...range }]);
    }
  }
}

function* blocksOf({ about, text, numbers }: RowTexts): Generator<Block> {
  const [lengths = new Uint32Array()] = numbers;
  const tables = SIZED_TABLES + (about.sized?.length ?? 0);
  for (let [from, start] = [0, 0]; from < lengths.length; ) {
    let [to, end] = [from, start];
    do {
      end += (lengths[to] ?? 0) + 1;
      to += 1;
    } while (to < lengths.length && end - start + (lengths[to] ?? 0) < GROUP_BYTES_MAX);
    const rowCount = to - from;
    const packed = new RowNumbers(packNumbers(numbers, from, to), rowCount, tables);
    yield { from, rowCount, text: text.subarray(start, end), numbers: packed };
    [from, start] = [to, end];
  }
}
