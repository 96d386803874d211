/** A DuckDB of a test's own, which reads and writes below one folder. */
import { join } from 'node:path';
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
