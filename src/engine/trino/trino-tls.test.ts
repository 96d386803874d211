/** A coordinator over TLS: which certificates are believed in, and what is said of others. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { sleep } from '../../../test/real-time.ts';
import { Coordinator } from './coordinator.ts';

const skip =
  spawnSync('openssl', ['version']).status === 0 ? undefined : 'no openssl is here, to make a certificate with';
const folder = mkdtempSync(join(tmpdir(), 'qrs-tls-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A certificate for this machine that is signed by itself. */
function makeCertificate(): { readonly key: string; readonly cert: string } {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const named = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert];
  execFileSync('openssl', [...made, ...named], { stdio: 'ignore' });
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
}

test('a certificate that signs itself is believed in where the settings name it, and nowhere else', {
  skip,
}, async () => {
  const { key, cert } = makeCertificate();
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
      message:
        'no connection to Trino can be made (DEPTH_ZERO_SELF_SIGNED_CERT): see QRS_ENGINE_URL and QRS_TRINO_CA_FILE',
    });
    assert.equal(seen.length, 1);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
