/** The answer as NDJSON: the rows of the JSON answer, one on each line, and nothing else. */
import type { ByteChunks } from '../read/byte-chunks.ts';
import type { SourceWithRows } from './answer-source.ts';

const LINE_FEED = Buffer.from('\n');

/** One segment for each chunk. An answer without rows is empty, since readers would take an empty line for a row. */
export async function* encodeNdjson({ chunks }: SourceWithRows): AsyncGenerator<ByteChunks> {
  for await (const { byteChunks } of chunks) yield [...byteChunks, LINE_FEED];
}
