/** A stream of CSV that fails at its end if it has not as many rows as the service said: a proxy may end an answer early as if it were whole. */
import { IncompleteResult } from './errors.ts';

const [QUOTE, LINE_END] = ['"', '\n'].map((mark) => mark.charCodeAt(0));

/** @param rowCount the service's own header; null where it does not say */
export function countedRows(csv: ReadableStream<Uint8Array>, rowCount: string | null): ReadableStream<Uint8Array> {
  if (rowCount === null) return csv;
  // The first line has the names of the columns.
  let rows = -1;
  let isQuoted = false;
  const counting = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      for (const byte of chunk) {
        if (byte === QUOTE) isQuoted = !isQuoted;
        else if (byte === LINE_END && !isQuoted) rows += 1;
      }
      controller.enqueue(chunk);
    },
    flush() {
      if (rows === Number(rowCount)) return;
      throw new IncompleteResult(`${Math.max(0, rows)} rows have come, of ${rowCount} that the service said there are`);
    },
  });
  return csv.pipeThrough(counting);
}
