/** The next page's address, and the headers that carry it. */
import type { PageOfRows } from '../read/page.ts';
import { formatQueryString, type QueryParameters } from '../request/query-string.ts';
import type { ResultsRequest } from '../request/results-request.ts';

export interface NextPage {
  readonly offset: number;
  /** Absolute. */
  readonly uri: string;
  /** Those in the address. */
  readonly parameters: QueryParameters;
}

/**
 * The next page's address (contract §2): for this execution, on the base that the client used, with every parameter but the
 * key.
 * @param pageRows the next page's limit, if the client gave none
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
  // A format that was chosen by a header is written into the address, so that the next page has the same format.
  if (request.format === 'ndjson' || request.format === 'parquet') parameters.set('format', [request.format]);
  const isCsv = request.format === 'csv';
  if (isCsv && request.pagesAt !== undefined) parameters.set('format', [request.format]);
  const path = request.pagesAt ?? `execution/${executionId}/results${isCsv ? '/csv' : ''}`;
  return { offset, parameters, uri: `${request.base}/${path}?${formatQueryString(parameters)}` };
}

/** JSON carries the next page in its body; the other formats can only use headers. */
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
