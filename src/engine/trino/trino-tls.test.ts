/** A coordinator over TLS: which certificates are believed in, and what is said of others. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { makeCertificate, NO_OPENSSL } from '../../../test/certificate.ts';
import { sleep } from '../../../test/real-time.ts';
import { Coordinator } from './coordinator.ts';

const folder = mkdtempSync(join(tmpdir(), 'qrs-tls-'));
after(() => rmSync(folder, { recursive: true, force: true }));

test('a certificate that signs itself is believed in where the settings name it, and nowhere else', {
  skip: NO_OPENSSL,
}, async () => {
  const { key, cert } = makeCertificate(folder);
  const seen: (string | undefined)[] = [];
  const server = createServer({ key, cert }, (request, response) => {
    seen.push(request.headers.authorization);
    response.end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ask = async (certificates: string | undefined) => {
    const address = {
      origin,
      user: 'qrs',
      password: undefined,
      token: 'eyJ.t',
      catalog: 'lake',
      schema: undefined,
      certificates,
    };
    using coordinator = new Coordinator(address, sleep);
    const request = { method: 'GET', url: new URL('/v1/info', origin), signed: true } as const;
    return await coordinator.ask(request, async (answer) => answer.resume().statusCode, AbortSignal.timeout(10_000));
  };
  try {
    assert.equal(await ask(cert), 200);
    assert.deepEqual(seen, ['Bearer eyJ.t']);
    await assert.rejects(ask(undefined), {
      type: 'engine_error',
      message: `no connection to Trino can be made (DEPTH_ZERO_SELF_SIGNED_CERT): the certificate of ${origin.slice(8)} is not trusted; QRS_TRINO_CA_FILE names those to believe in besides`,
    });
    assert.equal(seen.length, 1);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
