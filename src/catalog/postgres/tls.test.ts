/** The catalog over TLS, on a real server: what `sslmode` and `sslrootcert` in its address hold, and what they refuse. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { Client } from 'pg';
import { giveToServer, POSTGRES_MISSING, PostgresServer } from '../../../test/postgres-server.ts';
import { sleep } from '../../../test/real-time.ts';
import { openPostgresCatalog } from './postgres-catalog.ts';

const OPENSSL_MISSING =
  spawnSync('openssl', ['version']).status === 0 ? undefined : 'openssl is not here, which makes the certificates';
const OPTIONS = { monotonic: () => performance.now(), sleep, stalenessMaxMillis: 0, connectionsMax: 2 };
const isSkipped = POSTGRES_MISSING ?? OPENSSL_MISSING ?? false;

suite('a catalog over TLS', { skip: isSkipped }, () => {
  let folder = '';
  let server: PostgresServer;

  before(async () => {
    if (isSkipped !== false) return;
    folder = mkdtempSync(join(tmpdir(), 'qrs-tls-'));
    makeAuthority('ca');
    makeAuthority('other-ca');
    signServer('ca', 'localhost');
    // The server refuses a key that others may read, and reads it as the user that it runs as.
    chmodSync(folder, 0o755);
    chmodSync(file('server.key'), 0o600);
    giveToServer(file('server.key'));
    const files = { ssl_cert_file: file('server.crt'), ssl_key_file: file('server.key') };
    server = await PostgresServer.start({ ssl: 'on', ...files });
    // From now on nobody is let in without TLS.
    const rules = (await server.run<{ hba_file: string }>('show hba_file'))[0]?.hba_file ?? '';
    writeFileSync(rules, 'hostssl all all 127.0.0.1/32 scram-sha-256\n');
    await server.run('select pg_reload_conf()');
    while ((await refusalOf(address('127.0.0.1', 'sslmode=disable'))) === undefined)
      await sleep(10, AbortSignal.timeout(5000));
  });

  after(async () => {
    await server?.[Symbol.asyncDispose]();
    if (folder !== '') rmSync(folder, { recursive: true });
  });

  function file(name: string): string {
    return join(folder, name);
  }

  function openssl(...args: readonly string[]): void {
    execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  }

  function makeAuthority(name: string): void {
    const key = ['-newkey', 'rsa:2048', '-nodes', '-keyout', `${name}.key`];
    openssl('req', '-x509', ...key, '-days', '2', '-subj', `/CN=${name}`, '-out', `${name}.crt`);
  }

  function signServer(authority: string, host: string): void {
    openssl(
      'req',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-keyout',
      'server.key',
      '-subj',
      `/CN=${host}`,
      '-out',
      'server.csr',
    );
    writeFileSync(file('names'), `subjectAltName=DNS:${host}\n`);
    const by = ['-CA', `${authority}.crt`, '-CAkey', `${authority}.key`, '-CAcreateserial'];
    openssl('x509', '-req', '-in', 'server.csr', ...by, '-days', '2', '-extfile', 'names', '-out', 'server.crt');
  }

  function address(host: string, query: string): string {
    return `${server.address.replace('127.0.0.1', host)}?${query}`;
  }

  /** Why the catalog could not be opened; undefined when it could, and then all its connections are over TLS. */
  async function refusalOf(url: string): Promise<string | undefined> {
    try {
      await using catalog = await openPostgresCatalog(url, OPTIONS);
      // On the connections of the pool, and on the one that listens.
      await catalog.principals.listUsers();
      await catalog.version();
      const client = new Client({ connectionString: url });
      await client.connect();
      const { rows } = await client.query<{ ssl: boolean }>(
        "select ssl from pg_stat_ssl join pg_stat_activity using (pid) where application_name = 'query-results-service'",
      );
      await client.end();
      assert.ok(rows.length >= 2);
      if (rows.every(({ ssl }) => ssl)) return undefined;
      assert.equal(url.includes('sslmode=disable'), true, 'a connection is not over TLS');
      return undefined;
    } catch (error) {
      const { message } = error as Error;
      assert.doesNotMatch(message, /only-for-tests/);
      return message;
    }
  }

  test('with the authority that signed the server, and the name that it signed, the catalog opens', async () => {
    assert.equal(await refusalOf(address('localhost', `sslmode=verify-full&sslrootcert=${file('ca.crt')}`)), undefined);
  });

  test('a server that another authority signed is refused', async () => {
    const refusal = await refusalOf(address('localhost', `sslmode=verify-full&sslrootcert=${file('other-ca.crt')}`));
    assert.match(
      refusal ?? '',
      /^cannot open the catalog at localhost:\d+\/postgres as qrs: unable to verify the first certificate/,
    );
  });

  test('without an authority those of the system hold, and none of them signed the server', async () => {
    for (const mode of ['verify-full', 'require']) {
      const refusal = await refusalOf(address('localhost', `sslmode=${mode}`));
      assert.match(refusal ?? '', /unable to verify the first certificate|self-signed certificate/);
    }
  });

  test('a certificate of another name is refused', async () => {
    const refusal = await refusalOf(address('127.0.0.1', `sslmode=verify-full&sslrootcert=${file('ca.crt')}`));
    assert.match(refusal ?? '', /IP: 127\.0\.0\.1 is not in the cert's list/);
  });

  test('with no-verify the connection is encrypted, whoever the server is', async () => {
    assert.equal(await refusalOf(address('127.0.0.1', 'sslmode=no-verify')), undefined);
  });

  test('without TLS a server that asks for it lets nobody in', async () => {
    assert.match((await refusalOf(address('127.0.0.1', 'sslmode=disable'))) ?? '', /no encryption/);
    assert.match((await refusalOf(server.address)) ?? '', /no encryption/);
  });

  test('an authority that is no file is told by its path', async () => {
    const refusal = await refusalOf(address('localhost', `sslmode=verify-full&sslrootcert=${file('none.crt')}`));
    assert.match(refusal ?? '', /ENOENT.*none\.crt/);
  });
});
