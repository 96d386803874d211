/** A service to publish results to over HTTP, and what must be there after a publish that failed. */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { type HttpService, startHttpService } from './http-service.ts';
import { annWrites } from './http-writer.ts';

export const CSV = 'wallet,amount\n0xd8da,1520.5\n0xab58,7\n';

/** A query 7 of ann's, and a key of hers that may write. */
export async function start(
  environment: Readonly<Record<string, string>> = {},
  t: Parameters<typeof startHttpService>[0],
) {
  const service = await startHttpService(t, environment);
  await service.commandLine.get('queries', 'add', '--id', '7', '--user', 'ann');
  return { service, ...(await annWrites(service)) };
}

/** Asserts that there is no run of query 7, nothing staged, no object and no lease. */
export async function assertUntouched(service: HttpService): Promise<void> {
  const catalog = await service.catalog();
  assert.deepEqual(await catalog.executions.list({ queryId: 7, limit: 10 }), []);
  assert.deepEqual(await catalog.leases.list('write:'), []);
  assert.deepEqual(await Array.fromAsync((await service.store()).list('')), []);
  // Where results are in S3, the folder is made when it is first needed.
  assert.deepEqual(await readdir(service.staging).catch(() => []), []);
}
