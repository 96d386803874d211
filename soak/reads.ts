/** What the soak's readers ask for, each with the check of what they get. */
import { isDeepStrictEqual } from 'node:util';
import { type Answer, type Asking, type Envelope, Wrong } from './client.ts';
import type { Below } from './random.ts';
import { csvLine, HEADER, idsByBucketDown, idsInBucket, type Run, rowAt } from './rows.ts';
import type { Published } from './world.ts';

export type Read = (client: Asking, world: Published, key: string, below: Below) => Promise<void>;

export interface WeightedRead {
  readonly name: string;
  /** How often it is asked for, beside the others. */
  readonly weight: number;
  readonly read: Read;
}

export const READS: readonly WeightedRead[] = [
  { name: 'page', weight: 30, read: readPage },
  { name: 'hot page', weight: 25, read: readHotPage },
  { name: 'page as CSV', weight: 10, read: readCsvPage },
  { name: 'filter', weight: 12, read: readFilter },
  { name: 'sorted walk', weight: 6, read: readSortedWalk },
  { name: 'sample', weight: 6, read: readSample },
  { name: 'export', weight: 3, read: readExport },
  { name: 'export as Parquet', weight: 1, read: readParquet },
  { name: 'status and health', weight: 6, read: readStatus },
  { name: 'dataset', weight: 2, read: readDataset },
  { name: 'wrong key', weight: 1, read: readWithWrongKey },
  { name: 'revoked key', weight: 1, read: readWithRevokedKey },
];

/** One of them, by their weights. */
export function someRead(reads: readonly WeightedRead[], below: Below): WeightedRead {
  let at = below(reads.reduce((sum, { weight }) => sum + weight, 0));
  for (const read of reads) {
    if (at < read.weight) return read;
    at -= read.weight;
  }
  throw new Error('the weights do not add up');
}

async function readPage(client: Asking, world: Published, key: string, below: Below): Promise<void> {
  const queryId = world.someQuery(below);
  const [offset, limit] = [below(1500), 1 + below(500)];
  const path = `/v1/query/${queryId}/results?offset=${offset}&limit=${limit}`;
  checkPage(path, await client.json(path, key), world, queryId, (run) => idsFrom(run, offset, limit));
}

async function readHotPage(client: Asking, world: Published, key: string, below: Below): Promise<void> {
  const queryId = world.someQuery(below);
  const path = `/v1/query/${queryId}/results?limit=100`;
  checkPage(path, await client.json(path, key), world, queryId, (run) => idsFrom(run, 0, 100));
}

async function readCsvPage(client: Asking, world: Published, key: string, below: Below): Promise<void> {
  const queryId = world.someQuery(below);
  const [offset, limit] = [below(1500), 1 + below(500)];
  const path = `/v1/query/${queryId}/results/csv?offset=${offset}&limit=${limit}`;
  const answer = await client.get(path, key);
  requireStatus(path, answer, 200);
  const text = answer.body.toString();
  const run = world.runOf(path, queryId, Number(text.split('\n')[1]?.split(',')[1]));
  const lines = idsFrom(run, offset, limit).map((id) => `${csvLine(rowAt(run.number, id))}\n`);
  if (text !== `${HEADER}\n${lines.join('')}`) throw new Wrong(`${path}: other lines than those of run ${run.number}`);
}

async function readFilter(client: Asking, world: Published, key: string, below: Below): Promise<void> {
  const queryId = world.someQuery(below);
  const bucket = below(1000);
  const filters = ['bucket=B', "name = 'name B'", 'bucket between B and B and run >= 0'][below(3)] ?? '';
  const path = `/v1/query/${queryId}/results?limit=50&filters=${encodeURIComponent(filters.replaceAll('B', String(bucket)))}`;
  checkPage(path, await client.json(path, key), world, queryId, (run) => idsInBucket(run, bucket).slice(0, 50));
}

async function readSortedWalk(client: Asking, world: Published, key: string, below: Below): Promise<void> {
  const queryId = world.someQuery(below);
  const limit = 200 + below(800);
  let path: string | undefined =
    `/v1/query/${queryId}/results?sort_by=${encodeURIComponent('bucket desc')}&limit=${limit}`;
  for (let page = 0; page < 4 && path !== undefined; page += 1) {
    const envelope: Envelope = await client.json(path, key);
    const offset = page * limit;
    if (page > 0 && envelope.result === undefined) return;
    checkPage(path, envelope, world, queryId, (run) => idsByBucketDown(run, offset, limit));
    path = envelope.next_uri;
  }
}

async function readSample(client: Asking, world: Published, key: string, below: Below): Promise<void> {
  const queryId = world.someQuery(below);
  const count = [5, 100, 1500, 20_000][below(4)] ?? 5;
  const path = `/v1/query/${queryId}/results?sample_count=${count}`;
  const { rows, run } = rowsOf(path, await client.json(path, key), world, queryId);
  const ids = rows.map(({ id }) => Number(id));
  const isSubset = ids.every((id, n) => id >= 0 && id < run.rowCount && id > (ids[n - 1] ?? -1));
  if (!isSubset || ids.length !== Math.min(count, run.rowCount)) throw new Wrong(`${path}: no sample of ${count} rows`);
  checkRows(path, rows, run, ids);
}

async function readExport(client: Asking, world: Published, key: string, below: Below): Promise<void> {
  const queryId = world.someQuery(below);
  const path = `/v1/query/${queryId}/results/csv?ignore_max_datapoints_per_request=true`;
  const answer = await client.get(path, key);
  requireStatus(path, answer, 200);
  const lines = answer.body.toString().split('\n');
  const run = world.runOf(path, queryId, Number(lines[1]?.split(',')[1]));
  if (lines.length !== run.rowCount + 2 || lines[0] !== HEADER) throw new Wrong(`${path}: ${lines.length} lines`);
  for (let id = 0; id < run.rowCount; id += 1) {
    if (lines[id + 1] !== csvLine(rowAt(run.number, id)))
      throw new Wrong(`${path}: line ${id + 1} is ${lines[id + 1]}`);
  }
}

async function readParquet(client: Asking, world: Published, key: string, below: Below): Promise<void> {
  const queryId = world.someQuery(below);
  const path = `/v1/query/${queryId}/results?format=parquet&ignore_max_datapoints_per_request=true`;
  const answer = await client.get(path, key);
  requireStatus(path, answer, 200);
  const sums = await world.parquetSums(answer.body);
  const run = world.runOf(path, queryId, sums.run);
  let expected = 0;
  for (let id = 0; id < run.rowCount; id += 1) expected += id * (rowAt(run.number, id).bucket + 1);
  if (sums.rowCount !== run.rowCount || sums.weighted !== expected)
    throw new Wrong(`${path}: other rows than were stored`);
}

async function readStatus(client: Asking, world: Published, key: string, below: Below): Promise<void> {
  for (const path of ['/healthz', '/readyz']) requireStatus(path, await client.get(path, ''), 200);
  const queryId = world.someQuery(below);
  const latest = await client.json(`/v1/query/${queryId}/results?limit=0`, key);
  const path = `/v1/execution/${latest.execution_id}/status`;
  const { state } = await client.json(path, key);
  if (!/^QUERY_STATE_(COMPLETED|EXPIRED)$/.test(state)) throw new Wrong(`${path}: ${state}`);
}

/** Of a curated dataset only that it is there: its rows are checked by tests of their own. */
async function readDataset(client: Asking, world: Published, key: string): Promise<void> {
  const path = `${world.datasetPath}?limit=20`;
  const { result } = await client.json(path, key);
  if (result?.rows.length !== result?.metadata.row_count || result?.rows.length === 0)
    throw new Wrong(`${path}: no rows`);
}

async function readWithWrongKey(client: Asking, world: Published, _: string, below: Below): Promise<void> {
  const path = `/v1/query/${world.someQuery(below)}/results`;
  requireStatus(path, await client.get(path, `wrong-${below(1_000_000)}`), 401);
}

async function readWithRevokedKey(client: Asking, world: Published, _: string, below: Below): Promise<void> {
  const path = `/v1/query/${world.someQuery(below)}/results`;
  const revoked = world.revokedKeys[below(Math.max(1, world.revokedKeys.length))];
  if (revoked !== undefined) requireStatus(path, await client.get(path, revoked), 401);
}

/** Ids of a page in stored order. */
export function idsFrom({ rowCount }: Run, offset: number, limit: number): readonly number[] {
  return Array.from({ length: Math.max(0, Math.min(limit, rowCount - offset)) }, (_, n) => offset + n);
}

function rowsOf(path: string, { result, state }: Envelope, world: Published, queryId: number) {
  if (result === undefined) throw new Wrong(`${path}: ${state}, without rows`);
  const { rows, metadata } = result;
  const run = world.runOf(path, queryId, rows.length === 0 ? undefined : Number(rows[0]?.run));
  const hasCounts =
    metadata.row_count === rows.length && (rows.length === 0 || metadata.total_row_count === run.rowCount);
  if (!hasCounts)
    throw new Wrong(`${path}: counts ${JSON.stringify(metadata)} of run ${run.number} (${run.rowCount} rows)`);
  return { rows, run };
}

/** @param expected ids of the rows that the page should have @throws Wrong */
export function checkPage(
  path: string,
  envelope: Envelope,
  world: Published,
  queryId: number,
  expected: (run: Run) => readonly number[],
): void {
  const { rows, run } = rowsOf(path, envelope, world, queryId);
  // A page without rows does not say which run it is of.
  if (rows.length === 0 && world.runsOf(queryId).some((one) => expected(one).length === 0)) return;
  checkRows(path, rows, run, expected(run));
}

function checkRows(
  path: string,
  rows: readonly Readonly<Record<string, unknown>>[],
  run: Run,
  ids: readonly number[],
): void {
  if (rows.length !== ids.length)
    throw new Wrong(`${path}: ${rows.length} rows of run ${run.number} instead of ${ids.length}`);
  for (const [n, id] of ids.entries()) {
    if (!isDeepStrictEqual(rows[n], rowAt(run.number, id))) {
      throw new Wrong(`${path}: row ${n} of run ${run.number} is ${JSON.stringify(rows[n])}, not that with id ${id}`);
    }
  }
}

function requireStatus(path: string, { status, body }: Answer, expected: number): void {
  if (status !== expected)
    throw new Wrong(`${path}: ${status} instead of ${expected}: ${body.toString('utf8', 0, 300)}`);
}
