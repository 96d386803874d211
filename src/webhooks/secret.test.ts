/** Signatures, against the example of Standard Webhooks' own libraries. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeSecret, signedHeaders } from './secret.ts';

test('a message is signed as in the example of the specification', () => {
  const body = '{"test": 2432232314}';
  const headers = signedHeaders(
    { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', seconds: 1_614_265_330, body },
    'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  );
  assert.deepEqual(headers, {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

test('a secret is the prefix and 32 random bytes in base64', () => {
  const secret = makeSecret((length) => new Uint8Array(length).fill(255));
  assert.equal(secret, 'whsec_//////////////////////////////////////////8=');
});
