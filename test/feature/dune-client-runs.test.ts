/** The hosted API's own Python client runs queries here, unmodified but for its address: run_query, run_query_dataframe. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { pythonWithDuneClient } from '../../scripts/dune-client.ts';
import { startRunningService } from './running-service.ts';

const SCRIPT = join(import.meta.dirname, '../../scripts/clients/dune_client_runs.py');
const python = pythonWithDuneClient();
const skip = python === undefined && 'no Python environment with dune-client: npm run setup:dune-client';

test('run_query and run_query_dataframe: execute, poll, read', { skip }, async (t) => {
  assert.ok(python !== undefined);
  const service = await startRunningService(t, {
    'shop/orders.csv': 'id,chain,amount\n1,base,5\n2,base,7\n3,celo,11\n',
  });
  service.startRunner();
  const { body } = await service.send('POST', '/v1/query', {
    name: 'Orders',
    query_sql:
      'SELECT id::INT AS id, amount::INT * {{factor}} AS cost FROM shop.orders WHERE chain = {{chain}} ORDER BY id',
    parameters: [
      { key: 'factor', type: 'number', value: 1 },
      { key: 'chain', type: 'text' },
    ],
  });
  const env = {
    ...process.env,
    DUNE_API_KEY: service.key,
    DUNE_API_BASE_URL: service.url,
    DUNE_API_REQUEST_TIMEOUT: '60',
  };
  const { stdout } = await promisify(execFile)(python, [SCRIPT, String(body.query_id)], { env, timeout: 100_000 });
  const rows = [
    { id: 1, cost: 15 },
    { id: 2, cost: 21 },
  ];
  assert.deepEqual(JSON.parse(stdout), { state: 'QUERY_STATE_COMPLETED', rows, frame: rows });
  assert.deepEqual(service.faults, []);
});
