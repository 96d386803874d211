/**
 * Runs the tests that take a real Trino, on one that lives as long as they do: `node scripts/test-trino.ts`. Where the S3 server of the
 * tests is there, too, Trino gives rows as segments in it; `--direct` has rows come with its answers all the same.
 */
import { spawnSync } from 'node:child_process';
import { S3_ENVIRONMENT, S3_MISSING, S3Server } from '../test/s3-server.ts';
import { TRINO_MISSING, TrinoServer } from '../test/trino-server.ts';

const FILES = [
  'contract/trino-engine',
  'feature/trino-access',
  'feature/trino-types',
  'feature/trino-running',
  'feature/trino-datasets',
  'feature/trino-values',
  'feature/trino-restart',
].map((name) => `test/${name}.test.ts`);

async function run(): Promise<number> {
  await using s3 = S3_MISSING !== undefined || process.argv.includes('--direct') ? undefined : await S3Server.start();
  const { AWS_ACCESS_KEY_ID: accessKey, AWS_SECRET_ACCESS_KEY: secretKey, AWS_REGION: region } = S3_ENVIRONMENT;
  const bucket = s3 && { endpoint: s3.endpoint, bucket: s3.bucket, region, accessKey, secretKey };
  process.stdout.write(`starting Trino; rows come ${bucket ? 'as segments in S3' : 'with its answers'}\n`);
  await using server = await TrinoServer.start(bucket);
  const flags = ['--test', '--test-concurrency=1', '--test-timeout=180000'];
  const { status } = spawnSync(process.execPath, [...flags, ...FILES], {
    stdio: 'inherit',
    env: {
      ...process.env,
      TEST_TRINO_URL: server.origin,
      TEST_TRINO_TABLES: server.tables,
      TEST_TRINO_ACCESS: JSON.stringify(server.access),
    },
  });
  return status ?? 1;
}

if (TRINO_MISSING !== undefined) process.stdout.write(`skipped: ${TRINO_MISSING}\n`);
else process.exitCode = await run();
