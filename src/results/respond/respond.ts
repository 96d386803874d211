/**
 * The answer to a request for results: JSON or CSV (and NDJSON, respond-ndjson.ts) around the encoded rows. JSON puts the rows before what is known only
 * when the last of them has been read (the page's cell bytes), so that it can be sent as it is read.
 */

import { datapointsOf } from '../../domain/datapoints.ts';
import type { Execution, ExecutionState } from '../../domain/execution.ts';
import type { ResultSet } from '../../domain/result-set.ts';
import { csvName } from '../../duckdb/csv-field.ts';
import type { RequestStats } from '../../observation/request-stats.ts';
import { ROW_SEPARATOR } from '../compile/range.ts';
import { type ByteChunks, gather } from '../read/byte-chunks.ts';
import type { PageOfRows } from '../read/page.ts';
import type { Chunk } from '../read/part-reader.ts';
import { formatQueryString } from '../request/query-string.ts';
import type { ResultsRequest } from '../request/results-request.ts';
import { envelopeOf, metadataOf } from './envelope.ts';

export interface NextPage {
  readonly offset: number;
  /** Absolute. */
  readonly uri: string;
}

/** What an answer is made from, beside its rows. */
export interface Responding {
  readonly execution: Execution;
  readonly state: ExecutionState;
  readonly resultSet: ResultSet;
  readonly page: PageOfRows;
  readonly next: NextPage | undefined;
}

/**
 * The next page's address (contract §2): pinned to the execution, on the base that the client used, with every parameter but
 * the key.
 * @param pageRows the limit to go on with, where the client gave none
 */
export function nextPageOf(
  request: ResultsRequest,
  executionId: string,
  page: Pick<PageOfRows, 'more' | 'offset' | 'rowCount'>,
  pageRows: number,
): NextPage | undefined {
  if (!page.more) return undefined;
  const offset = page.offset + page.rowCount;
  const parameters = new Map(request.parameters);
  parameters.delete('api_key');
  parameters.set('offset', [String(offset)]);
  const limit = parameters.get('limit')?.filter((value) => value !== '')[0];
  parameters.set('limit', [limit ?? String(pageRows)]);
  // What a header asked for the address now says, so that it holds for whoever follows it.
  if (request.format === 'ndjson' || request.format === 'parquet') parameters.set('format', [request.format]);
  const path = `execution/${executionId}/results${request.format === 'csv' ? '/csv' : ''}`;
  return { offset, uri: `${request.base}/${path}?${formatQueryString(parameters)}` };
}

/** JSON says in its body where it goes on; the others have no place for it but the headers. */
export function pagingHeaders(
  request: ResultsRequest,
  page: Pick<PageOfRows, 'filteredRowCount'>,
  next: NextPage | undefined,
): Readonly<Record<string, string>> {
  const inHeaders = request.format !== 'json';
  return {
    ...(next !== undefined && { link: `<${next.uri}>; rel="next"` }),
    ...(page.filteredRowCount !== undefined && { 'filtered-row-count': String(page.filteredRowCount) }),
    ...(next !== undefined && inHeaders && { 'next-offset': String(next.offset), 'next-uri': next.uri }),
  };
}

/** An answer's makings with its encoded rows; a responder is a pure function of it. */
export type WithRows = Responding & { readonly chunks: AsyncIterable<Chunk> };

/** Makes the answer from its rows: one segment for each chunk, and a last one. */
export async function* respondJson(found: WithRows): AsyncGenerator<ByteChunks> {
  const { execution, state, resultSet, page, next, chunks } = found;
  let head = `${JSON.stringify(envelopeOf(execution, state)).slice(0, -1)},"result":{"rows":[`;
  let rowCount = 0;
  let cellBytes = 0;
  for await (const chunk of chunks) {
    rowCount += chunk.rowCount;
    cellBytes += chunk.cellBytes;
    yield [Buffer.from(head), ...chunk.byteChunks];
    head = ROW_SEPARATOR.json;
  }
  const metadata = JSON.stringify(metadataOf(execution, resultSet, { columns: page.columns, rowCount, cellBytes }));
  const follow = next === undefined ? '' : `,"next_offset":${next.offset},"next_uri":${JSON.stringify(next.uri)}`;
  yield [Buffer.from(`${rowCount === 0 ? head : ''}],"metadata":${metadata}}${follow}}`)];
}

export async function* respondCsv({ page, chunks }: WithRows): AsyncGenerator<ByteChunks> {
  const header = `${page.columns.map((column) => csvName(column.name)).join(',')}\n`;
  let head = header;
  for await (const chunk of chunks) {
    yield [Buffer.from(head), ...chunk.byteChunks];
    head = ROW_SEPARATOR.csv;
  }
  yield [Buffer.from(head === header ? header : '\n')];
}

const NOTHING = { rowCount: 0, cellBytes: 0 } as const;

/** The same chunks, each added to the tally when it is handed out. */
export async function* countRows(
  chunks: AsyncIterable<Chunk>,
  page: PageOfRows,
  stats: RequestStats,
): AsyncGenerator<Chunk> {
  for await (const chunk of chunks) {
    // What is skipped is not handed out.
    const { rowCount, cellBytes } = chunk.byteChunks.length === 0 ? NOTHING : chunk;
    const before = datapointsOf(stats.rowCount, page.columns.length, stats.cellBytes);
    const after = datapointsOf(stats.rowCount + rowCount, page.columns.length, stats.cellBytes + cellBytes);
    stats.add({ rowCount, cellBytes, datapoints: after - before });
    yield chunk;
  }
}

/** The page is given back when its last chunk has been taken, or when the reader gives up. */
export async function* releaseAfter<T>(page: Pick<PageOfRows, 'release'>, chunks: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* chunks;
  } finally {
    page.release();
  }
}

export async function collect(segments: AsyncIterable<ByteChunks>): Promise<ByteChunks> {
  const all: Uint8Array[] = [];
  for await (const byteChunks of segments) all.push(...byteChunks);
  return gather(all);
}
