/**
 * The answer as a Parquet file, with the parameters, pages and limits of every format, and with real names and types.
 * `parquet-files.ts` makes and keeps the file. Its ETag is made from its bytes, since DuckDB does not promise the same bytes
 * for the same rows. Length and digest are remembered longer than the file, for HEAD and for a client that has the file
 * already.
 */
import type { QueryWords } from '../../domain/column-descriptions.ts';
import type { RequestStats } from '../../observation/request-stats.ts';
import type { Answer } from '../answer.ts';
import type { LruBytes } from '../cache/lru-bytes.ts';
import type { SegmentIndex } from '../cache/segment-index.ts';
import { pageRowsMax, type ReadPlan } from '../plan/read-plan.ts';
import { type ExportPage, openExport } from '../read/open-export.ts';
import type { ReadDeps } from '../read/open-page.ts';
import type { ReadRequest } from '../read/page.ts';
import type { OpenParquetFile, ParquetContent, ParquetFile, ParquetFiles } from '../read/parquet-files.ts';
import { CONTENT_TYPES } from '../request/format.ts';
import type { ResultsRequest } from '../request/results-request.ts';
import { etagOfDigest, matchesEtag } from './cache-policy.ts';
import { respondUnchanged } from './envelope-answer.ts';
import { nextPageOf, pagingHeaders } from './next-page.ts';
import { priceHeaders } from './price-headers.ts';
import type { StreamRequest } from './stream-answer.ts';

export interface ParquetRequest extends ReadRequest, StreamRequest {
  readonly request: ResultsRequest;
  readonly plan: ReadPlan;
  /** What the file says of its query. */
  readonly words: QueryWords | undefined;
}

export interface ParquetDeps {
  readonly read: ReadDeps;
  readonly parquet: ParquetFiles;
  readonly segmentIndexes: LruBytes<SegmentIndex>;
}

/** @throws RequestError what opening the rows and writing the file throw */
export async function respondParquet(
  asked: ParquetRequest,
  deps: ParquetDeps,
  stats: RequestStats,
  signal: AbortSignal,
): Promise<Answer> {
  const { request, known, cacheHeaders } = asked;
  const seen = known && deps.segmentIndexes.get(known.identity);
  const etag = seen && etagOfDigest(seen.sha256);
  if (etag !== undefined && matchesEtag(request.ifNoneMatch, etag)) {
    return respondUnchanged('parquet', etag, cacheHeaders);
  }
  if (request.isHead) {
    const { page } = await openExport(asked, deps.read, signal);
    page.release();
    const headers = { ...headersOf(asked, page), ...cacheHeaders };
    const body = { kind: 'head', size: seen } as const;
    return { contentType: CONTENT_TYPES.parquet, headers, ...(etag && { etag }), compressed: true, body };
  }
  const content = (during: AbortSignal) => openContent(asked, deps, during);
  const opened = await deps.parquet.get(known?.identity, content, signal);
  if (known !== undefined) deps.segmentIndexes.put(known.identity, remembered(opened.file));
  return await respondFile(opened, known !== undefined, asked, stats, signal);
}

/**
 * Answers with the file that was made before, if it is still there. Nothing is planned or opened.
 * @param identity what its bytes depend on
 */
export async function respondKeptParquet(
  identity: string,
  asked: Pick<ParquetRequest, 'request' | 'cacheHeaders'>,
  { parquet }: Pick<ParquetDeps, 'parquet'>,
  stats: RequestStats,
  signal: AbortSignal,
): Promise<Answer | undefined> {
  const opened = await parquet.find(identity);
  if (opened === undefined) return undefined;
  stats.cache = 'hit';
  return await respondFile(opened, true, asked, stats, signal);
}

/** @param isKnown whether the same request gets the same file again */
async function respondFile(
  opened: OpenParquetFile,
  isKnown: boolean,
  { request, cacheHeaders }: Pick<ParquetRequest, 'request' | 'cacheHeaders'>,
  stats: RequestStats,
  signal: AbortSignal,
): Promise<Answer> {
  const { file } = opened;
  const etag = isKnown ? etagOfDigest(file.sha256) : undefined;
  const release = async () => await opened[Symbol.asyncDispose]();
  if (etag !== undefined && matchesEtag(request.ifNoneMatch, etag)) {
    await release();
    return respondUnchanged('parquet', etag, cacheHeaders);
  }
  stats.add(file);
  const headers = { ...file.headers, 'datapoint-count': String(file.datapoints), ...cacheHeaders };
  const size = { bytes: file.bytes, sha256: file.sha256 };
  return {
    contentType: CONTENT_TYPES.parquet,
    headers,
    ...(etag !== undefined && { etag }),
    compressed: true,
    body: { kind: 'file', size, chunks: (slice) => opened.chunks(slice, signal), release },
  };
}

/** Opens the rows of the file, under a read lease that keeps the sweep from removing them. */
async function openContent(
  asked: ParquetRequest,
  { read }: Pick<ParquetDeps, 'read'>,
  signal: AbortSignal,
): Promise<ParquetContent> {
  await using held = new AsyncDisposableStack();
  held.use(await read.leases.hold(asked.executionId));
  const { page, rows } = await openExport(asked, read, signal);
  held.defer(() => page.release());
  const kept = held.move();
  return { rows, headers: headersOf(asked, page), [Symbol.asyncDispose]: async () => await kept.disposeAsync() };
}

function headersOf(
  { request, executionId, plan }: ParquetRequest,
  page: ExportPage['page'],
): Readonly<Record<string, string>> {
  const next = nextPageOf(request, executionId, page, pageRowsMax(plan));
  return { ...pagingHeaders(request, page, next), ...priceHeaders(page) };
}

function remembered({ bytes, sha256 }: ParquetFile): SegmentIndex {
  return { marks: [], bytes, sha256 };
}
