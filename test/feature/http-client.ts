/** A client of the service: raw requests, typed answers, and walks from page to page. */
import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import type { HttpService } from './http-service.ts';

/** The JSON envelope of specification §2.1. */
export interface Envelope {
  readonly execution_id: string;
  readonly query_id: number;
  readonly state: string;
  readonly is_execution_finished: boolean;
  readonly next_offset?: number;
  readonly next_uri?: string;
  readonly result: { readonly metadata: Metadata; readonly rows: readonly Readonly<Record<string, unknown>>[] };
}

export interface Metadata {
  readonly column_names: readonly string[];
  readonly column_types: readonly string[];
  readonly datapoint_count: number;
  readonly row_count: number;
  readonly result_set_bytes: number;
  readonly total_row_count: number;
  readonly total_result_set_bytes: number;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** The envelope of a GET that must answer 200 with a result. */
export async function getEnvelope(service: HttpService, path: string): Promise<Envelope> {
  return (await service.json(path)) as unknown as Envelope;
}

/** Status and text of a GET. */
export async function getText(service: HttpService, path: string, key?: string): Promise<readonly [number, string]> {
  const response = await service.get(path, key === undefined ? {} : { key });
  return [response.status, await response.text()];
}

/** A request with exactly these headers on a connection of its own: `fetch` adds some and refuses to send others. */
export async function rawRequest(
  url: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  method = 'GET',
): Promise<Answer> {
  const response = await openAnswer(url, path, headers, method);
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks).toString() };
}

/** The same, before the first byte of the body is read. */
export async function openAnswer(
  url: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  method = 'GET',
): Promise<IncomingMessage> {
  const { hostname, port } = new URL(url);
  const asked = request({ hostname, port, path, method, headers, agent: false, setHost: headers.host === undefined });
  asked.end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  return response;
}

/** More pages than any test has. A walk in circles ends here. */
const PAGES_MAX = 10_000;

/** The pages from `path` on, each found by the `next_uri` of the one before. */
export async function walk(service: HttpService, path: string): Promise<readonly Envelope[]> {
  const pages: Envelope[] = [];
  for (let next: string | undefined = path; next !== undefined && pages.length < PAGES_MAX; ) {
    const page: Envelope = await getEnvelope(service, next.replace(service.url, ''));
    pages.push(page);
    next = page.next_uri;
  }
  return pages;
}

/** The same in CSV, by the paging header. */
export async function walkCsv(service: HttpService, path: string): Promise<readonly string[]> {
  const pages: string[] = [];
  for (let next: string | null = path; next !== null && pages.length < PAGES_MAX; ) {
    const response: Response = await service.get(next.replace(service.url, ''));
    const text = await response.text();
    if (response.status !== 200) throw new Error(`GET ${next} answered ${response.status}: ${text}`);
    pages.push(text);
    next = response.headers.get('x-service-next-uri');
  }
  return pages;
}

export function rowsOf(pages: readonly Envelope[]): readonly Readonly<Record<string, unknown>>[] {
  return pages.flatMap((page) => page.result.rows);
}
