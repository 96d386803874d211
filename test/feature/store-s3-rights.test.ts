/**
 * A key of the bucket that lacks a right, or a server that lacks a request: a sweep deletes what it may and says what it may not, and the doctor
 * says what to do about it before.
 */
import assert from 'node:assert/strict';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Finding } from '../../src/maintenance/doctor/finding.ts';
import { S3_ENVIRONMENT, S3_MISSING, S3Server } from '../s3-server.ts';
import { type CommandLine, makeCommandLine } from './command.ts';
import { type RequestFault, startFaultyStore } from './faulty-store.ts';

/** What a writer left who has died. */
const STAGED = '01HR0000000000000000000000.5';

const UPLOADS = /^GET \S+[?&]uploads/;
const OBJECTS = /^GET \S+[?&]list-type=2/;

/** @param faultOf what happens to a request, `METHOD path` */
async function commandOver(t: TestContext, faultOf: (asked: string) => RequestFault): Promise<CommandLine> {
  Object.assign(process.env, S3_ENVIRONMENT);
  const server = await S3Server.start();
  t.after(async () => await server[Symbol.asyncDispose]());
  const relay = await startFaultyStore(t, server.endpoint, () => 'none', faultOf);
  return await makeCommandLine(t, { QRS_STORE_URL: `s3://${server.bucket}/rights?endpoint=${relay.url}` });
}

for (const [fault, why] of [
  ['AccessDenied', 'AccessDenied, by the test'],
  ['NotImplemented', 'NotImplemented, by the test'],
] as const) {
  test(`uploads in parts that cannot be listed (${fault}) keep no sweep from what is staged`, {
    skip: S3_MISSING ?? false,
  }, async (t) => {
    const qrs = await commandOver(t, (asked) => (UPLOADS.test(asked) ? fault : 'none'));
    await qrs.get('users', 'add', 'ann');
    await qrs.get('queries', 'add', '--id', '7', '--user', 'ann');
    assert.equal((await qrs.run(['publish', '-', '--query', '7', '--format', 'csv'], 'n\n1\n')).code, 0);
    const staging = join(qrs.dataDir, 'staging');
    await mkdir(join(staging, STAGED), { recursive: true });
    assert.deepEqual(await qrs.run(['sweep', '--yes']), {
      code: 1,
      out: 'expired=0\norphans=1\nbytes=0\n',
      err: `error: 1 leftover cannot be deleted: S3 refuses ListMultipartUploads of rights/ in the bucket results: ${why}; give this user the right to, or remove what is named; all others were deleted\n`,
    });
    assert.deepEqual(await readdir(staging), []);
  });
}

test('the doctor says what cannot be listed, why, and what comes of it', { skip: S3_MISSING ?? false }, async (t) => {
  let [denied, fault]: [RegExp, RequestFault] = [UPLOADS, 'none'];
  const qrs = await commandOver(t, (asked) => (denied.test(asked) ? fault : 'none'));
  async function lists(): Promise<readonly Finding[]> {
    const { out } = await qrs.run(['doctor', '--json']);
    const findings: readonly Finding[] = JSON.parse(out);
    return findings.filter(({ check }) => check === 'lists of the store');
  }
  const found = 'what is stored, and uploads that nobody finished, can be listed';
  assert.deepEqual(await lists(), [{ check: 'lists of the store', status: 'ok', found }]);
  for (const refusal of ['AccessDenied', 'NotImplemented'] as const) {
    [denied, fault] = [UPLOADS, refusal];
    assert.deepEqual(await lists(), [
      {
        check: 'lists of the store',
        status: 'warning',
        found: `uploads that nobody finished cannot be listed: S3 refuses ListMultipartUploads of rights/ in the bucket results: ${refusal}, by the test`,
        advice:
          'give the key of the bucket `s3:ListBucketMultipartUploads`; until then sweeps delete all else and end with an error. A lifecycle rule of the bucket deletes such uploads where the server has no list of them',
      },
    ]);
  }
  [denied, fault] = [OBJECTS, 'AccessDenied'];
  assert.deepEqual(await lists(), [
    {
      check: 'lists of the store',
      status: 'wrong',
      found:
        'what is stored cannot be listed: S3 refuses ListObjectsV2 of rights/ in the bucket results: AccessDenied, by the test',
      advice: 'give the key of the bucket `s3:ListBucket`; until then no sweep deletes anything from the store',
    },
  ]);
});

test('a store in a folder has no rights to list of its own', async (t) => {
  const qrs = await makeCommandLine(t, (directory) => ({ QRS_STORE_URL: `file:${join(directory, 'results')}` }));
  const { out } = await qrs.run(['doctor']);
  assert.doesNotMatch(out, /lists of the store/);
});
