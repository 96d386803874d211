/** A DuckDB of a test's own, which reads and writes below one folder. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { DuckDb } from '../../src/duckdb/duckdb.ts';
import { sleep } from '../real-time.ts';

export async function openFolderDuckDb(directory: string, threads: number, memoryLimit = '256MB'): Promise<DuckDb> {
  return await DuckDb.open({
    threads,
    memoryLimit,
    tempDirectory: join(directory, 'tmp'),
    tempSizeMax: '1GB',
    sleep,
    allowedDirectories: [directory],
  });
}

/** With a folder that is made for the test, and gone after it. */
export async function startFolderDuckDb(
  t: TestContext,
  threads: number,
): Promise<{ readonly duckDb: DuckDb; readonly folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'qrs-duckdb-'));
  const duckDb = await openFolderDuckDb(folder, threads);
  t.after(async () => {
    await duckDb[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });
  return { duckDb, folder };
}
