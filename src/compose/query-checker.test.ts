/** What is told to those who add a query whose SQL the engine did not take, or could not look at. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EngineError, EngineUnavailable } from '../engine/engine.ts';
import { queryChecker } from './runs.ts';
import type { Service } from './service.ts';

/** Of adding a query, when the engine ends its check so. */
async function told(error: Error): Promise<unknown> {
  const engine = { check: () => Promise.reject(error) };
  const service = { engine: async () => engine, datasets: async () => [] } as unknown as Service;
  return await queryChecker(service)('SELECT 1', [], new AbortController().signal).catch((thrown: unknown) => thrown);
}

test('a mistake in the SQL is told with its place', async () => {
  const { code, message } = (await told(new EngineError('syntax_error', 'no such column', { line: 2, column: 8 }))) as {
    code: string;
    message: string;
  };
  assert.deepEqual([code, message], ['invalid_query', 'line 2, column 8: no such column']);
});

test('an engine that is away is no fault of the service: it may be asked again', async () => {
  const error = await told(new EngineUnavailable('Trino cannot be reached', new Error('ECONNREFUSED')));
  const { code, status, retryAfterSeconds, message } = error as Record<string, unknown>;
  assert.deepEqual(
    [code, status, retryAfterSeconds, message],
    ['engine_unavailable', 503, 5, 'what runs the queries cannot be reached at the moment'],
  );
});

test('what only the operator can mend is a fault', async () => {
  const error = new EngineError('engine_error', 'Trino does not let the service in');
  assert.equal(await told(error), error);
});
