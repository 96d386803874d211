/** The answer as NDJSON: the rows of the JSON answer, each on a line of its own, and nothing else. */
import type { ByteChunks } from '../read/byte-chunks.ts';
import type { WithRows } from './respond.ts';

const LINE_FEED = Buffer.from('\n');

/** One segment for each chunk. Without rows there is nothing: not even an empty line, which readers take for a row. */
export async function* respondNdjson({ chunks }: WithRows): AsyncGenerator<ByteChunks> {
  for await (const { byteChunks } of chunks) yield [...byteChunks, LINE_FEED];
}
