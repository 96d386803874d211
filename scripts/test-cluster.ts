/**
 * Runs test files with their catalogs in PostgreSQL and their results in S3, each in a schema and below a prefix of its own, on servers that
 * live as long as the tests: `node scripts/test-cluster.ts [FILE…]`. Without files: those whose outcome depends most on both.
 */
import { spawnSync } from 'node:child_process';
import { POSTGRES_MISSING, PostgresServer } from '../test/postgres-server.ts';
import { S3_ENVIRONMENT, S3_MISSING, S3Server } from '../test/s3-server.ts';

/** What is stored and read back in each format, what expires, who may see it. */
const FILES = [
  'access-matrix',
  'command-executions',
  'http-csv',
  'http-formats',
  'http-latest-run',
  'http-paging',
  'http-publishing',
  'http-runs',
  'http-sampling',
  'http-states',
].map((name) => `test/feature/${name}.test.ts`);

const missing = POSTGRES_MISSING ?? S3_MISSING;
if (missing !== undefined) process.stdout.write(`skipped: ${missing}\n`);
else {
  await using postgres = await PostgresServer.start();
  await using s3 = await S3Server.start();
  const given = process.argv.slice(2);
  const flags = ['--test', '--test-concurrency=2', '--test-timeout=120000'];
  const { status } = spawnSync(process.execPath, [...flags, ...(given.length > 0 ? given : FILES)], {
    stdio: 'inherit',
    env: { ...process.env, ...S3_ENVIRONMENT, TEST_POSTGRES_URL: postgres.address, TEST_S3_ENDPOINT: s3.endpoint },
  });
  process.exitCode = status ?? 1;
}
