/** A page of the column `number`, with how its rows were found. */
import assert from 'node:assert/strict';
import type { HttpService } from './http-service.ts';

/** The numbers of a page's rows, how they were found, and how many there are in all, if that is known. */
export async function ask(service: HttpService, path: string, query: Record<string, string>) {
  const response = await service.get(`${path}?${new URLSearchParams({ columns: 'number', ...query })}`);
  const body = await response.text();
  assert.equal(response.status, 200, body);
  const { result } = JSON.parse(body) as { result: { rows: { number: number }[] } };
  const count = response.headers.get('x-service-filtered-row-count');
  return {
    rows: result.rows.map(({ number }) => number),
    way: /plan;dur=[\d.]+;desc="([^"]*)"/.exec(response.headers.get('server-timing') ?? '')?.[1],
    count: count === null ? undefined : Number(count),
  };
}
