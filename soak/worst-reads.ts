/**
 * The reads that are the heaviest for the event loop: filters as long as they may be, thousands of columns, crowds, bodies that are refused,
 * lists, documents, and clients that go away. `npm run bench loop` measures each of them alone, and many more.
 */
import type { Asking, Client } from './client.ts';
import { Wrong } from './client.ts';
import type { Below } from './random.ts';
import { checkPage, type WeightedRead } from './reads.ts';
import type { Published } from './world.ts';

export const WIDE_QUERY = 107;
export const WIDE_COLUMNS = 2000;
const WIDE_ROWS = 30;
const CROWD = 100;
const FREE = 'ignore_max_datapoints_per_request=true';

export function worstReads({ leave, send }: Pick<Client, 'leave' | 'send'>, writeKey: string): readonly WeightedRead[] {
  return [
    { name: 'filter of 1,000 terms', weight: 2, read: readManyTerms },
    { name: 'filter of 1,000 values', weight: 2, read: readManyValues },
    { name: 'wide page', weight: 2, read: readWide },
    { name: 'statistics', weight: 1, read: readStatistics },
    { name: 'lists and documents', weight: 3, read: readLists },
    { name: 'crowd', weight: 1, read: readCrowd },
    {
      name: 'export, left',
      weight: 2,
      read: async (_, world, key, below) => await leave(`/v1/query/${world.someQuery(below)}/results?${FREE}`, key),
    },
    { name: 'JSON of 1 MB, refused', weight: 1, read: async () => await sendBrackets(send, writeKey) },
  ];
}

/** Row `row` of the wide query, and so what its page must say. */
function wideCell(row: number, column: number): number {
  return row * WIDE_COLUMNS + column;
}

export function* wideCsv(): Generator<string> {
  const columns = Array.from({ length: WIDE_COLUMNS }, (_, column) => column);
  yield `${columns.map((column) => `c${column}`).join(',')}\n`;
  for (let row = 0; row < WIDE_ROWS; row += 1) yield `${columns.map((column) => wideCell(row, column)).join(',')}\n`;
}

async function readManyTerms(client: Asking, world: Published, key: string, below: Below): Promise<void> {
  const queryId = world.someQuery(below);
  const ids = distinctIds(1000, 2000, below);
  const path = filtered(queryId, ids.map((id) => `id=${id}`).join(' or '));
  checkPage(path, await client.json(path, key), world, queryId, () => ids);
}

async function readManyValues(client: Asking, world: Published, key: string, below: Below): Promise<void> {
  const queryId = world.someQuery(below);
  const ids = distinctIds(1000, 2000, below);
  const path = filtered(queryId, `id in (${ids.join(',')})`);
  checkPage(path, await client.json(path, key), world, queryId, () => ids);
}

function filtered(queryId: number, filters: string): string {
  return `/v1/query/${queryId}/results?limit=2000&filters=${encodeURIComponent(filters)}`;
}

/** Ascending; every run has them all. */
function distinctIds(count: number, idsMax: number, below: Below): readonly number[] {
  const ids = new Set<number>();
  while (ids.size < count) ids.add(below(idsMax));
  return [...ids].sort((a, b) => a - b);
}

async function readWide(client: Asking, _: Published, key: string, below: Below): Promise<void> {
  const [row, column] = [below(WIDE_ROWS), below(WIDE_COLUMNS)];
  const path = `/v1/query/${WIDE_QUERY}/results?limit=10&offset=${row}`;
  const { result } = await client.json(path, key);
  const found = result?.rows[0]?.[`c${column}`];
  if (found !== wideCell(row, column)) throw new Wrong(`${path}: c${column} is ${found}`);
}

async function readStatistics(client: Asking, world: Published, key: string, below: Below): Promise<void> {
  const { execution_id: id, result } = await client.json(`/v1/query/${world.someQuery(below)}/results?limit=0`, key);
  const path = `/v1/execution/${id}/statistics`;
  const answer = await client.get(path, key);
  // It may have expired since.
  if (answer.status !== 200) return;
  const { row_count: rows } = JSON.parse(answer.body.toString()) as { row_count: number };
  if (rows !== result?.metadata.total_row_count) throw new Wrong(`${path}: ${rows} rows`);
}

/** But not `/metrics`: whoever asks for them is told the longest turns since the last time, and the soak's own gauges want them all. */
async function readLists(client: Asking, world: Published, key: string, below: Below): Promise<void> {
  const paths = [
    '/v1/queries?limit=200',
    `/v1/query/${world.someQuery(below)}/executions?limit=200`,
    '/openapi.json',
    '/docs',
    '/v1/usage',
  ];
  for (const path of paths) {
    const { status } = await client.get(path, key);
    if (status !== 200) throw new Wrong(`${path}: ${status}`);
  }
}

/** At one moment. The client has fewer connections, so that some wait for the others. */
async function readCrowd(client: Asking, world: Published, key: string, below: Below): Promise<void> {
  const queryId = world.someQuery(below);
  const asked = Array.from({ length: CROWD }, async () => {
    const offset = below(1500);
    const path = `/v1/query/${queryId}/results?offset=${offset}&limit=20`;
    const envelope = await client.json(path, key);
    checkPage(path, envelope, world, queryId, () => Array.from({ length: 20 }, (_, n) => offset + n));
  });
  const refusal = (await Promise.allSettled(asked)).find((each) => each.status === 'rejected');
  if (refusal !== undefined) throw refusal.reason;
}

async function sendBrackets(send: Client['send'], writeKey: string): Promise<void> {
  const { status } = await send('/v1/query', writeKey, `{"name":${'['.repeat(400_000)}${']'.repeat(400_000)}}`);
  if (status !== 400) throw new Wrong(`/v1/query: ${status} for a megabyte of brackets`);
}
