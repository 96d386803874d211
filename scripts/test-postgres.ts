/**
 * Runs test files with their catalogs in PostgreSQL, each in a schema of its own on a server that lives as long as the tests:
 * `node scripts/test-postgres.ts [FILE…]`. Without files: those whose outcome depends most on the catalog.
 */
import { spawnSync } from 'node:child_process';
import { POSTGRES_MISSING, PostgresServer } from '../test/postgres-server.ts';

/** Access, changes over HTTP, runs, schedules, retention: what processes of several machines must agree on. */
const FILES = [
  'access-matrix',
  'command-executions',
  'command-principals',
  'command-upkeep',
  'http-access',
  'http-idempotency',
  'http-keys',
  'http-latest-run',
  'http-publishing',
  'http-queries',
  'http-rights-lost',
  'http-runs',
  'http-states',
  'sweep',
  'usage',
  'webhooks',
].map((name) => `test/feature/${name}.test.ts`);

if (POSTGRES_MISSING !== undefined) process.stdout.write(`skipped: ${POSTGRES_MISSING}\n`);
else {
  await using server = await PostgresServer.start();
  const given = process.argv.slice(2);
  const flags = ['--test', '--test-concurrency=2', '--test-timeout=300000'];
  const { status } = spawnSync(process.execPath, [...flags, ...(given.length > 0 ? given : FILES)], {
    stdio: 'inherit',
    env: { ...process.env, TEST_POSTGRES_URL: server.address },
  });
  process.exitCode = status ?? 1;
}
