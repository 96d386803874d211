/** A service that cannot start says why in one line and ends, within seconds, whatever is wrong. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import type { Setting } from '../../src/settings/setting.ts';
import { SETTINGS } from '../../src/settings/settings.ts';
import { withoutSettings } from '../without-settings.ts';
import { makeCommandLine } from './command.ts';

const QRS = join(import.meta.dirname, '../../bin/qrs.js');
const TOO_LONG = 'x'.repeat(10_000);

/** For settings that take nearly any text. All others refuse a word with a percent sign. */
const WRONG: Readonly<Record<string, string>> = {
  QRS_CONFIG_FILE: TOO_LONG,
  QRS_HOST: TOO_LONG,
  QRS_DATA_DIR: TOO_LONG,
  QRS_SOURCES_DIR: TOO_LONG,
  QRS_KEY: TOO_LONG,
  QRS_PUBLIC_KEY: TOO_LONG,
  QRS_TRINO_TOKEN: TOO_LONG,
  QRS_TRINO_CA_FILE: TOO_LONG,
};

test('every setting with a value that it cannot have: the command names the setting and what it expects', async (t) => {
  const all: readonly Setting<unknown>[] = Object.values(SETTINGS);
  assert.ok(all.length > 40);
  for (const { name } of all) {
    const qrs = await makeCommandLine(t, { [name]: WRONG[name] ?? '%wrong' });
    const { code, out, err } = await qrs.run(['serve']);
    assert.deepEqual({ code, out }, { code: 1, out: '' }, name);
    assert.match(err, new RegExp(`^error: ${name} [^\\n]*\\n$`), name);
  }
});

/** Errors that show only in use, or that are not about a setting. */
interface Unusable {
  readonly environment: Record<string, string>;
  /** Of the data directory, where a file is in the place of a folder. */
  readonly inTheWay?: string;
  readonly says: RegExp;
}

const UNUSABLE: Readonly<Record<string, Unusable>> = {
  'a file in the place of the folder of what is being written': {
    environment: {},
    inTheWay: 'results/staging',
    says: /\/data\/results\/staging is not a folder, or lies in something that is none; remove it \(EEXIST\)/,
  },
  'a file in the place of what is fetched from S3': {
    environment: { QRS_STORE_URL: 's3://results/p?endpoint=http://127.0.0.1:1&region=here' },
    inTheWay: 'fetched',
    says: /\/data\/fetched is not a folder, or lies in something that is none; remove it, or set QRS_DATA_DIR \(EEXIST\)/,
  },
  'a data directory that cannot be made': {
    environment: { QRS_DATA_DIR: '/proc/none/data' },
    says: /\/proc\/none\/data cannot be made; set QRS_DATA_DIR/,
  },
  'a store that cannot be made': {
    environment: { QRS_STORE_URL: 'file:/proc/none/results' },
    says: /\/proc\/none\/results cannot be made; set QRS_STORE_URL/,
  },
  'a catalog whose folder cannot be made': {
    environment: { QRS_CATALOG_URL: 'sqlite:/proc/none/catalog.sqlite' },
    says: /cannot open the catalog \/proc\/none\/catalog\.sqlite/,
  },
  'a catalog that is a folder': { environment: { QRS_CATALOG_URL: 'sqlite:/' }, says: /cannot open the catalog \// },
  'a store that is a file': { environment: { QRS_STORE_URL: 'file:file' }, says: /file is not a folder/ },
  'a store in S3 that is not there': {
    environment: {
      QRS_STORE_URL: 's3://results/p?endpoint=http://127.0.0.1:1&region=here',
      AWS_ACCESS_KEY_ID: 'a',
      AWS_SECRET_ACCESS_KEY: 'b',
    },
    says: /cannot be reached at the moment: S3 fails at GetObject of p\/installation\.txt in the bucket results: connect ECONNREFUSED 127\.0\.0\.1:1/,
  },
  'an address that this machine does not have': {
    environment: { QRS_HOST: '192.0.2.1' },
    says: /this machine does not have the address 192\.0\.2\.1/,
  },
  'a configuration file that is not there': {
    environment: { QRS_CONFIG_FILE: 'none.env' },
    says: /QRS_CONFIG_FILE names none\.env, which does not exist/,
  },
  'a configuration file that is a folder': {
    environment: { QRS_CONFIG_FILE: '/' },
    says: /QRS_CONFIG_FILE: \/ is a folder, expected a file/,
  },
  'traces by a protocol that there is not': {
    environment: { OTEL_TRACES_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
    says: /OTEL_EXPORTER_OTLP_PROTOCOL is "grpc"/,
  },
  'traces to an address that is none': {
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: 'nowhere' },
    says: /OTEL_EXPORTER_OTLP_ENDPOINT is "nowhere\/v1\/traces"/,
  },
};

for (const [what, { environment, inTheWay, says }] of Object.entries(UNUSABLE)) {
  test(`${what}: one line, exit 1, and nothing lives on`, { timeout: 180_000 }, async (t) => {
    if (process.platform !== 'linux') return t.skip('the places used here are those of Linux');
    const cwd = await mkdtemp(join(tmpdir(), 'qrs-start-'));
    t.after(async () => await rm(cwd, { recursive: true, force: true }));
    const obstacle = inTheWay === undefined ? join(cwd, 'file') : join(cwd, 'data', inTheWay);
    await mkdir(dirname(obstacle), { recursive: true });
    await writeFile(obstacle, '');
    const env = { ...withoutSettings(), QRS_PORT: '0', QRS_DATA_DIR: join(cwd, 'data'), ...environment };
    const child = spawn(process.execPath, [QRS, 'serve'], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    t.after(() => child.kill('SIGKILL'));
    const said = text(child.stderr);
    const [code] = await once(child, 'exit', { signal: AbortSignal.timeout(20_000) });
    assert.match(await said, says);
    assert.match(await said, /^error: [^\n]+\n$/);
    assert.equal(code, 1);
  });
}
