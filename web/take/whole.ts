/** Passes on the bytes of a file, and fails at their end if they are not all of it: a proxy may end an answer early as if it were whole. */
import type { Format } from './download.ts';

const [QUOTE, LINE_END] = ['"', '\n'].map((mark) => mark.charCodeAt(0));
/** Ends of whole files: of Parquet, and of the envelope around the rows in JSON, which has another one where a result has expired. */
const ENDS: Readonly<Partial<Record<Format, string>>> = { json: '}}}', parquet: 'PAR1' };

type Bytes = Uint8Array<ArrayBuffer>;

export interface WholeCheck {
  readonly stream: TransformStream<Bytes, Bytes>;
  /** Why the stream failed: a browser that collects it tells another reason. */
  problem(): Error | undefined;
}

/** @param rowCount the service's own header; null where it does not say */
export function checkWhole(format: Format, rowCount: string | null): WholeCheck {
  // The first line of CSV has the names of the columns.
  let rows = format === 'csv' ? -1 : 0;
  let isQuoted = false;
  let tail = '';
  let problem: Error | undefined;
  const end = ENDS[format];
  const look = (chunk: Bytes) => {
    if (end !== undefined) {
      tail = (tail + String.fromCharCode(...chunk.subarray(-end.length))).slice(-end.length);
      return;
    }
    for (const byte of chunk) {
      if (byte === QUOTE && format === 'csv') isQuoted = !isQuoted;
      else if (byte === LINE_END && !isQuoted) rows += 1;
    }
  };
  const stream = new TransformStream<Bytes, Bytes>({
    transform(chunk, controller) {
      look(chunk);
      controller.enqueue(chunk);
    },
    flush() {
      const isWhole = end === undefined ? rowCount === null || rows === Number(rowCount) : tail === end;
      if (isWhole) return;
      problem = new Error('the answer ended before its end, or the result has expired: try again');
      throw problem;
    },
  });
  return { stream, problem: () => problem };
}
