/** A result long enough to be streamed: six parts, 26 MB of JSON, more than the buffers of a connection hold. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { Execution } from '../../src/domain/execution.ts';
import type { HttpService } from './http-service.ts';

const ROWS_OF_PART = 32_768;

export const LONG_RESULT_ROWS = 6 * ROWS_OF_PART;

/** Column `n` counts from 0; column `w` is a hundred letters. */
export async function publishLongResult(service: HttpService, queryId: number): Promise<Execution> {
  const path = join(service.commandLine.directory, 'long.parquet');
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(
    `COPY (SELECT range AS n, repeat('x', 100) AS w FROM range(${LONG_RESULT_ROWS})) TO '${path}' (FORMAT parquet)`,
  );
  connection.closeSync();
  instance.closeSync();
  const layout = { rowGroupRows: ROWS_OF_PART, rowGroupsPerPart: 1 };
  return await service.publish(queryId, await readFile(path), { format: 'parquet', ...layout });
}
