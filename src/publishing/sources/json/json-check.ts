/**
 * Reads the bytes of a JSON file beside the conversion: for the blanks that DuckDB takes between values and JSON does not have, and for
 * how many lines there are, which a bar shows.
 */
import { createReadStream } from 'node:fs';
import { PublishError } from '../../publish-error.ts';

const LF = 0x0a;
/** To DuckDB these are blanks, as in C. Within a text they are escaped, so no JSON has one of these bytes anywhere. */
const NO_BLANKS = [
  { byte: 0x0c, name: 'a form feed', escaped: '\\f' },
  { byte: 0x0b, name: 'a vertical tab', escaped: '\\u000b' },
] as const;
/** Of which every byte may end a line: then they take some milliseconds. */
const CHUNK_BYTES = 64 * 1024;

/**
 * @returns how many lines end, and the last one, if it does not. Empty ones count, too: it is for a bar, not for a sum
 * @throws PublishError naming the line with a blank that JSON does not have; the signal's reason
 */
export async function checkJson(path: string, signal: AbortSignal): Promise<number> {
  let lines = 0;
  let last = LF;
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES, signal })) {
    const bytes = chunk as Buffer;
    // Next to nothing beside reading the bytes.
    for (const { byte, name, escaped } of NO_BLANKS) {
      const at = bytes.indexOf(byte);
      if (at < 0) continue;
      throw new PublishError(
        `line ${lines + countLineEnds(bytes.subarray(0, at)) + 1}: the JSON cannot be read: it has ${name}, and JSON allows only spaces, tabs and line ends between values; in a text it is written ${escaped}`,
      );
    }
    lines += countLineEnds(bytes);
    last = bytes.at(-1) ?? last;
  }
  return last === LF ? lines : lines + 1;
}

function countLineEnds(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1)) count += 1;
  return count;
}
