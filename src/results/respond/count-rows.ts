/** Counts what is sent to a reader: rows, cell bytes and datapoints. */
import { datapointsOf } from '../../domain/datapoints.ts';
import type { RequestStats } from '../../observation/request-stats.ts';
import type { Chunk } from '../read/chunk.ts';
import type { PageOfRows } from '../read/page.ts';

const NOTHING = { rowCount: 0, cellBytes: 0 } as const;

/** Adds a chunk to the stats of its answer. */
export function countChunk(chunk: Chunk, { columns }: Pick<PageOfRows, 'columns'>, stats: RequestStats): void {
  // A chunk without bytes was skipped, and is not sent.
  const { rowCount, cellBytes } = chunk.byteChunks.length === 0 ? NOTHING : chunk;
  const before = datapointsOf(stats.rowCount, columns.length, stats.cellBytes);
  const after = datapointsOf(stats.rowCount + rowCount, columns.length, stats.cellBytes + cellBytes);
  stats.add({ rowCount, cellBytes, datapoints: after - before });
}

/** The same chunks. Each is added to the stats when it is handed out. */
export async function* countRows(
  chunks: AsyncIterable<Chunk>,
  page: Pick<PageOfRows, 'columns'>,
  stats: RequestStats,
): AsyncGenerator<Chunk> {
  for await (const chunk of chunks) {
    countChunk(chunk, page, stats);
    yield chunk;
  }
}
