/** How many lines of a file are rows: for a bar that shows how far a conversion has come. */
import { createReadStream } from 'node:fs';

const LF = 0x0a;
/** Of which every byte may end a line: then they take some milliseconds. */
const CHUNK_BYTES = 64 * 1024;

/** Lines that end; and the last one, if it does not. Empty ones count, too: it is for a bar, not for a sum. */
export async function countLines(path: string, signal: AbortSignal): Promise<number> {
  let lines = 0;
  let last = LF;
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES, signal })) {
    const bytes = chunk as Buffer;
    for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1)) lines += 1;
    last = bytes.at(-1) ?? last;
  }
  return last === LF ? lines : lines + 1;
}
