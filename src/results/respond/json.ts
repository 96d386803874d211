/**
 * The answer as JSON: the envelope around the rows. The page's cell bytes are known only after the last row, so the rows come
 * first and `metadata` after them. That way the answer is sent while it is read.
 */
import { ROW_SEPARATOR } from '../compile/row-encoding.ts';
import type { ByteChunks } from '../read/byte-chunks.ts';
import type { SourceWithRows } from './answer-source.ts';
import { envelopeOf, metadataOf } from './envelope.ts';

/** One segment for each chunk, and one for what follows the rows. */
export async function* encodeJson(source: SourceWithRows): AsyncGenerator<ByteChunks> {
  const { execution, state, resultSet, page, next, filteredRowCount, metadata: more, chunks } = source;
  let head = `${JSON.stringify(envelopeOf(execution, state)).slice(0, -1)},"result":{"rows":[`;
  let rowCount = 0;
  let cellBytes = 0;
  for await (const chunk of chunks) {
    rowCount += chunk.rowCount;
    cellBytes += chunk.cellBytes;
    yield [Buffer.from(head), ...chunk.byteChunks];
    head = ROW_SEPARATOR.json;
  }
  const ofPage = { columns: page.columns, rowCount, cellBytes, filteredRowCount };
  const metadata = JSON.stringify({ ...metadataOf(execution, resultSet, ofPage), ...more });
  const follow = next === undefined ? '' : `,"next_offset":${next.offset},"next_uri":${JSON.stringify(next.uri)}`;
  yield [Buffer.from(`${rowCount === 0 ? head : ''}],"metadata":${metadata}}${follow}}`)];
}
