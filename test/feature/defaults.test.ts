/** Contract §2, §7, §13: what a service does that nobody has configured. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeCommandLine } from './command.ts';

const DEFAULTS = {
  QRS_HOST: '127.0.0.1',
  QRS_PORT: '8080',
  QRS_MAX_DATAPOINTS: '250000',
  QRS_MAX_RESULT_BYTES: '8GB',
  QRS_RETENTION_DAYS: '90',
  QRS_COMPAT_HEADER_PREFIXES: 'X-Dune',
  QRS_PARTIAL_AS_COMPLETED: 'false',
  QRS_SQL_EXECUTE: 'false',
  QRS_ENGINE_URL: 'duckdb:',
};

test('the defaults', async (t) => {
  const qrs = await makeCommandLine(t);
  const printed = JSON.parse(await qrs.get('config', '--json')) as { name: string; value: string; source: string }[];
  const found = printed.filter(({ name }) => name in DEFAULTS).map(({ name, value }) => [name, value]);
  assert.deepEqual(Object.fromEntries(found), DEFAULTS);
});
