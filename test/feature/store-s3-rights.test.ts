/** A sweep with a key of the bucket that lacks a right, or on a server that lacks a request: what it may delete goes, and it says what it may not. */
import assert from 'node:assert/strict';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { S3_ENVIRONMENT, S3_MISSING, S3Server } from '../s3-server.ts';
import { makeCommandLine } from './command.ts';
import { type RequestFault, startFaultyStore } from './faulty-store.ts';

/** What a writer left who has died. */
const STAGED = '01HR0000000000000000000000.5';

for (const [fault, why] of [
  ['AccessDenied', 'AccessDenied, by the test'],
  ['NotImplemented', 'NotImplemented, by the test'],
] as const) {
  test(`uploads in parts that cannot be listed (${fault}) keep no sweep from what is staged`, {
    skip: S3_MISSING ?? false,
  }, async (t) => {
    Object.assign(process.env, S3_ENVIRONMENT);
    const server = await S3Server.start();
    t.after(async () => await server[Symbol.asyncDispose]());
    const faultOf = (asked: string): RequestFault => (/^GET \S+[?&]uploads/.test(asked) ? fault : 'none');
    const relay = await startFaultyStore(t, server.endpoint, () => 'none', faultOf);
    const qrs = await makeCommandLine(t, { QRS_STORE_URL: `s3://${server.bucket}/rights?endpoint=${relay.url}` });
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
