/**
 * Runs the feature tests with their catalogs in PostgreSQL and their results in S3, each in a schema and below a prefix of its own, on servers
 * that live as long as the tests: `node scripts/test-cluster.ts [--all] [FILE…]`. Without files: all but those that `cluster-files.ts` names
 * with their reasons. Property tests try a few cases here, and as many as ever with `--all`.
 */
import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { POSTGRES_MISSING, PostgresServer } from '../test/postgres-server.ts';
import { S3_ENVIRONMENT, S3_MISSING, S3Server } from '../test/s3-server.ts';
import { clusterFiles } from './cluster-files.ts';

/** Of each property test: they go through the same code over another catalog and store. */
const CASES = '5';

const all = process.argv.includes('--all');
const given = process.argv.slice(2).filter((word) => word !== '--all');
if (POSTGRES_MISSING !== undefined) process.stdout.write(`skipped: ${POSTGRES_MISSING}\n`);
else {
  await using postgres = await PostgresServer.start();
  await using s3 = S3_MISSING === undefined ? await S3Server.start() : undefined;
  if (s3 === undefined) process.stdout.write(`results in folders: ${S3_MISSING}\n`);
  const flags = [
    '--test',
    `--test-concurrency=${Math.max(2, Math.min(4, availableParallelism()))}`,
    '--test-timeout=300000',
  ];
  const { status } = spawnSync(process.execPath, [...flags, ...(given.length > 0 ? given : clusterFiles(all))], {
    stdio: 'inherit',
    env: {
      ...(!all && { TEST_CASES: CASES }),
      ...process.env,
      TEST_POSTGRES_URL: postgres.address,
      ...(s3 !== undefined && { ...S3_ENVIRONMENT, TEST_S3_ENDPOINT: s3.endpoint }),
    },
  });
  process.exitCode = status ?? 1;
}
