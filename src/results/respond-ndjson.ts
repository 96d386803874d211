/** The answer as NDJSON: the rows of the JSON answer, each on a line of its own, and nothing else. */
import type { Pieces } from './pieces.ts';
import type { WithRows } from './respond.ts';

const LINE_FEED = Buffer.from('\n');

/** One segment for each chunk. Without rows there is nothing: not even an empty line, which readers take for a row. */
export async function* respondNdjson({ chunks }: WithRows): AsyncGenerator<Pieces> {
  for await (const { pieces } of chunks) yield [...pieces, LINE_FEED];
}
