/**
 * How the service gets into a real Trino that asks who is there: over TLS, with a password or a token, through the settings. What is wrong is
 * said with the setting that mends it, and no error holds a secret.
 */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { inspect } from 'node:util';
import { openEngine } from '../../src/compose/engine.ts';
import { loadSettings } from '../../src/settings/load-settings.ts';
import { NO_OPENSSL } from '../certificate.ts';
import { readParquetTexts } from '../contract/read-parquet-rows.ts';
import { sleep } from '../real-time.ts';
import { TRINO_CATALOG, TRINO_USER, type TrinoAccess } from '../trino-server.ts';
import { NO_TRINO } from '../trino-tables.ts';

const { TEST_TRINO_ACCESS: given = '{}', TEST_TRINO_URL: plain = '' } = process.env;
const WRONG = 'no connection to Trino can be made';
const SHUT = 'Trino does not let the service in (status 401)';
const HOUR = 3600;

describe('access to Trino', { skip: NO_TRINO ?? NO_OPENSSL }, async () => {
  const { port, caFile, password, tokenKey } = JSON.parse(given) as TrinoAccess;
  const root = await mkdtemp(join(tmpdir(), 'qrs-on-trino-'));
  after(() => rm(root, { recursive: true, force: true }));
  const host = `127.0.0.1:${port}`;
  const trusted = { QRS_TRINO_CA_FILE: caFile };
  const withPassword = (word: string) => `trino://${TRINO_USER}:${encodeURIComponent(word)}@${host}/${TRINO_CATALOG}`;
  const withoutPassword = `trino://${TRINO_USER}@${host}/${TRINO_CATALOG}?tls=true`;
  let files = 0;

  /** @param seconds from now until it expires */
  function token(sub: string, seconds: number, key = tokenKey): string {
    const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
    const exp = Math.floor(Date.now() / 1000) + seconds;
    const signed = `${encoded({ alg: 'HS256', typ: 'JWT' })}.${encoded({ sub, exp })}`;
    return `${signed}.${createHmac('sha256', Buffer.from(key, 'base64')).update(signed).digest('base64url')}`;
  }

  /** Who one is to Trino. */
  async function whoAmI(url: string, environment: Readonly<Record<string, string>>): Promise<unknown> {
    const { settings } = loadSettings({
      environment: { QRS_ENGINE_URL: url, ...environment },
      readFile: () => undefined,
    });
    await using engine = await openEngine(settings, { sources: root, temp: join(root, 'temp') }, sleep);
    const path = join(root, `${++files}.parquet`);
    const query = { sql: 'SELECT current_user AS who', sources: [] };
    await engine.materialize(query, path, new AbortController().signal);
    return (await readParquetTexts(path))[0]?.[0];
  }

  async function refusal(url: string, environment: Readonly<Record<string, string>>): Promise<unknown> {
    const error = await whoAmI(url, environment).then(
      () => assert.fail('Trino was expected to refuse'),
      (e: unknown) => e,
    );
    const { QRS_TRINO_TOKEN: sent = 'eyJ' } = environment;
    const basic = Buffer.from(`${TRINO_USER}:${password}`).toString('base64');
    // As a log would show it, with its causes.
    const shown = inspect(error, { depth: 20, showHidden: true });
    for (const secret of [password, encodeURIComponent(password), basic, sent, tokenKey]) {
      assert.ok(!shown.includes(secret), shown);
    }
    return (error as Error).message;
  }

  test('a user with a password is let in', async () => {
    assert.equal(await whoAmI(withPassword(password), trusted), TRINO_USER);
  });

  test('a user with a token is let in', async () => {
    const environment = { ...trusted, QRS_TRINO_TOKEN: token(TRINO_USER, HOUR) };
    assert.equal(await whoAmI(withoutPassword, environment), TRINO_USER);
  });

  test('a wrong password is refused', async () => {
    const message = `${SHUT}: the user or the password in QRS_ENGINE_URL is wrong`;
    assert.equal(await refusal(withPassword(`${password}x`), trusted), message);
  });

  test('a token that has expired, is signed by somebody else, or is none is refused', async () => {
    const message = `${SHUT}: the token in QRS_TRINO_TOKEN is wrong, or has expired`;
    const otherKey = Buffer.alloc(32, 1).toString('base64');
    for (const wrong of [token(TRINO_USER, -HOUR), token(TRINO_USER, HOUR, otherKey), 'none']) {
      assert.equal(await refusal(withoutPassword, { ...trusted, QRS_TRINO_TOKEN: wrong }), message);
    }
  });

  test("another's token is refused", async () => {
    const environment = { ...trusted, QRS_TRINO_TOKEN: token('ann', HOUR) };
    assert.equal(
      await refusal(withoutPassword, environment),
      `Access Denied: User ann cannot impersonate user ${TRINO_USER}`,
    );
  });

  test('without a password or a token it says what Trino asks for', async () => {
    const message = `${SHUT}: it asks for a password (in QRS_ENGINE_URL) or a token (QRS_TRINO_TOKEN)`;
    assert.equal(await refusal(withoutPassword, trusted), message);
  });

  test('nothing is sent to a Trino whose certificate is not trusted', async () => {
    assert.equal(
      await refusal(withPassword(password), {}),
      `${WRONG} (DEPTH_ZERO_SELF_SIGNED_CERT): the certificate of ${host} is not trusted; QRS_TRINO_CA_FILE names those to believe in besides`,
    );
  });

  test('plain HTTP to a port of TLS, and TLS to a port of plain HTTP, are told from each other', async () => {
    assert.equal(
      await refusal(`trino://${TRINO_USER}@${host}/${TRINO_CATALOG}`, {}),
      `${WRONG} (HPE_INVALID_CONSTANT): ${host} does not speak HTTP; where it speaks TLS, add tls=true to QRS_ENGINE_URL`,
    );
    const { host: plainHost } = new URL(plain);
    assert.equal(
      await refusal(withPassword(password).replace(host, plainHost), trusted),
      `${WRONG} (EPROTO): ${plainHost} does not speak TLS; QRS_ENGINE_URL needs a port that does`,
    );
  });
});
