/** What the catalog suites share: a catalog to start with, and the values that they put into it. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type Catalog, CatalogConflict, type Completion } from '../../../src/catalog/catalog.ts';
import type { Execution } from '../../../src/domain/execution.ts';
import type { Instant } from '../../../src/domain/instant.ts';
import type { ResultSet } from '../../../src/domain/result-set.ts';

/** Makes an empty catalog, whose clock says NOON. @returns opens it, as often as wanted; everything is closed and removed after the test */
export type CatalogFactory = (t: TestContext) => Promise<() => Promise<ClockedCatalog>>;

/** A catalog whose clock a test can move, for all that have opened it. */
export interface ClockedCatalog extends Catalog {
  moveTo(now: Instant): Promise<void>;
}

/** The catalog with its clock. */
export function withClock(catalog: Catalog, moveTo: (now: Instant) => void | Promise<void>): ClockedCatalog {
  return Object.assign(catalog, { moveTo: async (now: Instant) => await moveTo(now) });
}

/** 2024-03-05T20:50:59Z: "now" in these tests. */
export const NOON: Instant = 1_709_671_859_000;

export const RESULT_SET: ResultSet = {
  columns: [
    { name: 'chain', type: { kind: 'varchar' } },
    { name: 'prices', type: { kind: 'array', element: { kind: 'decimal', precision: 10, scale: 3 } } },
  ],
  rowCount: 2,
  cellBytes: 41,
  truncated: false,
  parts: [
    {
      key: 'a/part-00000.parquet',
      firstRow: 0,
      rowCount: 2,
      cellBytes: 41,
      rowBytesMax: 21,
      objectBytes: 512,
      sha256: 'ab'.repeat(32),
    },
  ],
};

/** Execution ids in the order of their numbers: executionId(1) < executionId(2). */
export function executionId(number: number): string {
  return `01HR${String(number).padStart(22, '0')}`;
}

export function pendingRun(number: number, more: Partial<Execution> = {}): Execution {
  return {
    id: executionId(number),
    queryId: 7,
    parameters: {},
    state: 'PENDING',
    submittedAt: NOON + number,
    ...more,
  };
}

export function completion(more: Partial<Completion> = {}): Completion {
  return {
    startedAt: NOON + 100,
    endedAt: NOON + 200,
    expiresAt: NOON + 10_000,
    resultSet: RESULT_SET,
    ...more,
  };
}

/** A catalog with the user ann, the team crew with ann as its member, and ann's public query 7. */
export async function openWithQuery(prepare: CatalogFactory, t: TestContext): Promise<ClockedCatalog> {
  const open = await prepare(t);
  const catalog = await open();
  await addQuery(catalog);
  return catalog;
}

export async function addQuery(catalog: Catalog): Promise<void> {
  await catalog.principals.addUser('ann', NOON);
  await catalog.principals.addTeam('crew', ['ann'], NOON);
  await catalog.queries.add({ id: 7, owner: { kind: 'user', name: 'ann' }, visibility: 'public' }, NOON);
}

/** Adds a finished run. */
export async function addFinished(
  catalog: Catalog,
  run: Execution,
  more: Partial<Completion> = {},
  committedAt = completion(more).endedAt,
  after?: number,
): Promise<Execution> {
  const lease = await catalog.leases.acquire(`write:${run.id}`, 'test', 1000);
  if (lease === undefined) throw new Error(`someone holds write:${run.id}`);
  return await catalog.executions.addCompleted(run, completion(more), lease, { clock: () => committedAt, after });
}

/** For `assert.rejects`: a conflict with exactly this message. */
export function conflict(message: string) {
  return (error: unknown) => {
    assert(error instanceof CatalogConflict);
    assert.equal(error.message, message);
    return true;
  };
}
