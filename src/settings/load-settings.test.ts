import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadSettings, SettingsError } from './load-settings.ts';

type Texts = Readonly<Record<string, string>>;

function load(environment: Texts, files: Texts = {}) {
  return loadSettings({ environment, readFile: (path) => files[path] });
}

function refusal(environment: Texts, files: Texts = {}): string {
  try {
    load(environment, files);
  } catch (error) {
    assert(error instanceof SettingsError, String(error));
    return error.message;
  }
  return 'accepted';
}

test('without any input every setting has its default', () => {
  const { settings, effective } = load({ HOME: '/home/ann', PATH: '/bin' });
  assert.partialDeepStrictEqual(settings, {
    configFile: undefined,
    host: '127.0.0.1',
    port: 8080,
    publicUrl: undefined,
    dataDir: './data',
    catalog: { kind: 'sqlite', path: undefined },
    store: { kind: 'file', path: undefined },
    engine: { kind: 'duckdb' },
    sourcesDir: undefined,
    keyHeaders: ['X-Dune-Api-Key'],
    compatHeaderPrefixes: ['X-Dune'],
    datapointsMax: 250_000,
    resultBytesMax: 8_000_000_000,
    retentionDays: 90,
    partialAsCompleted: false,
    readTimeoutMillis: 60_000,
    memoryBytes: 4_000_000_000,
    readMemoryBytes: 1_200_000_000,
    readThreads: 'cores',
    heavyMemoryBytes: 480_000_000,
    publishMemoryBytes: 1_040_000_000,
    engineMemoryBytes: 400_000_000,
    pageCacheBytes: 400_000_000,
    tempBytesMax: 50_000_000_000,
    filterLengthMax: 20_000,
    filterTermsMax: 1000,
    filterDepthMax: 50,
    filterInMax: 1000,
    sortKeysMax: 16,
    leaseMillis: 30_000,
    logLevel: 'info',
  });
  assert(effective.every((setting) => setting.source === 'default'));
});

test('the environment wins over the file, the file over the defaults', () => {
  const file = '# ours\n\nQRS_PORT = 9000\r\nQRS_HOST="0.0.0.0"\n  QRS_LOG_LEVEL=warn\nQRS_COMPAT_HEADER_PREFIXES=\n';
  const { settings, effective } = load({ QRS_PORT: '0' }, { 'qrs.env': file });
  assert.equal(settings.port, 0);
  assert.equal(settings.host, '0.0.0.0');
  assert.equal(settings.logLevel, 'warn');
  assert.deepEqual(settings.compatHeaderPrefixes, []);
  const sources = Object.fromEntries(effective.map(({ name, source }) => [name, source]));
  assert.equal(sources.QRS_PORT, 'environment');
  assert.equal(sources.QRS_HOST, 'qrs.env');
  assert.equal(sources.QRS_DATA_DIR, 'default');
});

test('QRS_CONFIG_FILE names another file, which must exist', () => {
  const files = { 'qrs.env': 'QRS_PORT=1', '/etc/qrs.conf': 'QRS_PORT=2' };
  assert.equal(load({ QRS_CONFIG_FILE: '/etc/qrs.conf' }, files).settings.port, 2);
  assert.equal(load({ QRS_CONFIG_FILE: '' }, files).settings.port, 1);
  assert.equal(refusal({ QRS_CONFIG_FILE: 'x.env' }), 'QRS_CONFIG_FILE names x.env, which does not exist');
});

test('the effective settings, written to a file, have the same effect', () => {
  const given = { QRS_PORT: '0', QRS_RETENTION_DAYS: '0.5', QRS_READ_MEMORY: '1.5 GiB', QRS_KEY_HEADERS: 'X-A, X-B' };
  const first = load(given);
  const file = first.effective.map(({ name, value }) => `${name}=${value}\n`).join('');
  assert.deepEqual(load({}, { 'qrs.env': file }).settings, first.settings);
});

test('an empty value counts as not set', () => {
  assert.equal(load({ QRS_PORT: ' ', QRS_DATA_DIR: '', QRS_CATALOG_URL: '' }).settings.port, 8080);
});

test('values are read in the ways people write them', () => {
  const { settings } = load({
    QRS_MAX_RESULT_BYTES: '8_000_000_000',
    QRS_READ_MEMORY: '4 gib',
    QRS_TEMP_MAX: '0',
    QRS_READ_TIMEOUT: '1.5m',
    QRS_LEASE_SECONDS: '45',
    QRS_PARTIAL_AS_COMPLETED: 'TRUE',
    QRS_READ_THREADS: '3',
    QRS_PUBLIC_URL: 'https://results.example.com/',
    QRS_CATALOG_URL: 'sqlite:/srv/catalog.sqlite',
    QRS_STORE_URL: 'file:///srv/results',
    QRS_RETENTION_DAYS: '0.25',
  });
  assert.equal(settings.resultBytesMax, 8_000_000_000);
  assert.equal(settings.readMemoryBytes, 4 * 2 ** 30);
  assert.equal(settings.tempBytesMax, 0);
  assert.equal(settings.readTimeoutMillis, 90_000);
  assert.equal(settings.leaseMillis, 45_000);
  assert.equal(settings.partialAsCompleted, true);
  assert.equal(settings.readThreads, 3);
  assert.equal(settings.publicUrl, 'https://results.example.com');
  assert.deepEqual(settings.catalog, { kind: 'sqlite', path: '/srv/catalog.sqlite' });
  assert.deepEqual(settings.store, { kind: 'file', path: '/srv/results' });
  assert.equal(settings.retentionDays, 0.25);
});

test('a prefix in S3 is what the address means, whether it is spelled with %XX or not', () => {
  for (const spelled of ['team ä/50%25', 'team%20%C3%A4/50%25/']) {
    const { settings } = load({ QRS_STORE_URL: `s3://bucket/${spelled}` });
    assert.deepEqual(settings.store, {
      ...{ kind: 's3', bucket: 'bucket', prefix: 'team ä/50%/' },
      ...{ endpoint: undefined, region: undefined },
    });
  }
  assert.match(refusal({ QRS_STORE_URL: 's3://bucket/50%' }), /expected %XX where there is a percent sign/);
});

test('a bad value is refused with its name, the value, and what is expected', () => {
  const s3Expected =
    'expected s3://bucket/prefix, with ?endpoint=https://host:port and &region=name where they are wanted';
  const cases: readonly [string, string, string][] = [
    ['QRS_PORT', '80a', 'expected a whole number from 0 to 65535'],
    ['QRS_PORT', '65536', 'expected a whole number from 0 to 65535'],
    ['QRS_PORT', '-1', 'expected a whole number from 0 to 65535'],
    ['QRS_READ_MEMORY', '2 GX', 'expected a size of at least 64MB, such as 512MB, 2GB or 4GiB'],
    ['QRS_READ_MEMORY', '1MB', 'expected a size of at least 64MB, such as 512MB, 2GB or 4GiB'],
    ['QRS_RETENTION_DAYS', '0', 'expected a number greater than 0, at most 36500'],
    ['QRS_RETENTION_DAYS', '1e3', 'expected a number greater than 0, at most 36500'],
    ['QRS_PARTIAL_AS_COMPLETED', 'yes', 'expected true or false'],
    ['QRS_READ_TIMEOUT', '0', 'expected a time from 0.001s to 86400s, such as 30 (seconds), 500ms, 30s or 5m'],
    ['QRS_READ_THREADS', 'all', 'expected cores, or a whole number from 1 to 256'],
    ['QRS_RATE_LIMIT', '0', 'expected off, or a number greater than 0, at most 1000000'],
    [
      'QRS_SWEEP_SCHEDULE',
      '5 * *',
      'cron "5 * *": found 3 fields, expected 5: minute, hour, day of month, month, day of week',
    ],
    ['QRS_STRATEGY_COLUMNS', 'tokens', 'expected one of number, token'],
    ['QRS_LOG_LEVEL', 'loud', 'expected one of trace, debug, info, warn, error, fatal, silent'],
    ['QRS_PUBLIC_URL', 'ftp://x', 'expected an address such as https://results.example.com'],
    ['QRS_PUBLIC_URL', 'http://x/?a=1', 'expected an address such as https://results.example.com'],
    [
      'QRS_PUBLIC_URL',
      'https://results.example.com/v1/',
      'expected an address without /v1, which is added to it: https://results.example.com',
    ],
    [
      'QRS_PUBLIC_URL',
      'https://example.com/results/api/v1',
      'expected an address without /v1, which is added to it: https://example.com/results',
    ],
    ['QRS_KEY_HEADERS', 'X Y', 'expected header names separated by commas, such as X-Service, X-Other'],
    [
      'QRS_CATALOG_URL',
      'catalog.sqlite',
      'expected sqlite: (in the data directory), sqlite:/path/to/file or postgres://user:password@host/database',
    ],
    [
      'QRS_CATALOG_URL',
      'postgres://one:5432,two:5432/database',
      'expected one host, by a name that leads to the primary after a failover, too; found several',
    ],
    [
      'QRS_CATALOG_URL',
      'postgres://host',
      'expected postgres://user:password@host:port/database; what is special in a password is written %XX',
    ],
    ['QRS_STORE_URL', 's3://bucket?endpoint=localhost:9000', s3Expected],
    ['QRS_STORE_URL', 's3://bucket:9000/prefix', s3Expected],
    ['QRS_STORE_URL', 's3://bucket/prefix#more', s3Expected],
    ['QRS_ENGINE_URL', 'trino://ann@host/50%', 'expected %XX where there is a percent sign, and %25 for one'],
    ['QRS_CATALOG_URL', 'sqlite://host/a', 'expected a path, not a host: one slash or three after the colon'],
  ];
  for (const [name, value, expected] of cases) {
    assert.equal(refusal({ [name]: value }), `${name} is "${value}": ${expected}`);
  }
  assert.equal(
    refusal({}, { 'qrs.env': 'QRS_PORT=x' }),
    'QRS_PORT is "x" (in qrs.env): expected a whole number from 0 to 65535',
  );
});

test('a kind of catalog, store or engine that does not exist yet is refused by name, its password masked', () => {
  assert.equal(
    refusal({ QRS_STORE_URL: 's3://qrs:s3cr@t@bucket/prefix?password=x' }),
    'QRS_STORE_URL is "s3://qrs:***@bucket/prefix?password=***": expected s3://bucket/prefix, with ?endpoint=https://host:port and &region=name where they are wanted',
  );
  assert.match(refusal({ QRS_STORE_URL: 's3://qrs:secret@bucket' }), /expected no credentials in it/);
  assert.match(refusal({ QRS_ENGINE_URL: 'spark://host' }), /expected duckdb: or trino:/);
});

test('the address of a service has no password, and one that is given is not shown', () => {
  for (const name of ['QRS_URL', 'QRS_PUBLIC_URL']) {
    assert.equal(
      refusal({ [name]: 'https://ann:s3cret@results.example.com' }),
      `${name} is "https://ann:***@results.example.com": expected an address such as https://results.example.com`,
    );
  }
});

test('a password that is not written as it should be is masked as a whole', () => {
  for (const password of ['s3/cret', 's3?cret', 's3#cret', '53/cret', 's3:cr/et', 's3,cr/et', 's3@cr/et@x']) {
    const said = refusal({ QRS_CATALOG_URL: `postgres://ann:${password}@host:5432/qrs` });
    assert.match(said, /^QRS_CATALOG_URL is "postgres:\/\/ann:\*\*\*@host:5432\/qrs": expected /, password);
  }
});

test('a password may have commas', () => {
  const url = 'postgres://ann:s3,cret@host:5432/qrs';
  assert.deepEqual(load({ QRS_CATALOG_URL: url }).settings.catalog, { kind: 'postgres', url });
});

for (const [url, expected] of [
  ['trino://ann@host:8080/hive', { origin: 'http://host:8080', catalog: 'hive' }],
  ['trino://ann@host/hive/shop', { origin: 'http://host', catalog: 'hive', schema: 'shop' }],
  ['trino://ann@host:443/hive', { origin: 'https://host', catalog: 'hive' }],
  ['trino://ann@host:8443/hive?tls=true', { origin: 'https://host:8443', catalog: 'hive' }],
  ['trino://ann@host:443/hive?tls=false', { origin: 'http://host:443', catalog: 'hive' }],
  ['trino://ann:p%40ss@host:8443/hive', { origin: 'https://host:8443', catalog: 'hive', password: 'p@ss' }],
] as const) {
  test(`${url} is the Trino at ${expected.origin}`, () => {
    const { engine } = load({ QRS_ENGINE_URL: url }).settings;
    const none = { password: undefined, schema: undefined };
    assert.deepEqual(engine, { kind: 'trino', user: 'ann', ...none, ...expected });
  });
}

test('the address of a Trino that lacks its user or catalog is refused, and so is a password without TLS', () => {
  for (const url of [
    'trino://host:8080/hive',
    'trino://ann@host',
    'trino://ann@host/a/b/c',
    'trino://ann@host/a?ssl=true',
  ]) {
    assert.match(refusal({ QRS_ENGINE_URL: url }), /expected trino:\/\/user@host:port\/catalog or/);
  }
  const url = 'trino://ann:s3cret@host:8080/hive?tls=false';
  assert.equal(
    refusal({ QRS_ENGINE_URL: url }),
    'QRS_ENGINE_URL is "trino://ann:***@host:8080/hive?tls=false": expected TLS for a password: leave out tls=false',
  );
});

test('the password and the token for Trino are masked wherever settings are shown', () => {
  const { effective } = load({ QRS_ENGINE_URL: 'trino://ann:s3cret@host/hive', QRS_TRINO_TOKEN: 'eyJ.s3cret' });
  const shown = effective.filter(({ source }) => source === 'environment').map(({ value }) => value);
  assert.deepEqual(shown, ['trino://ann:***@host/hive', '***']);
});

test('a key with what no header can have is refused without being shown', () => {
  for (const key of ['qrs_a\nb', '“qrs_ab”', 'qrs_a b']) {
    assert.match(refusal({ QRS_KEY: key }), /^QRS_KEY is "\*\*\*": expected a key as it was printed/, key);
  }
  assert.equal(load({ QRS_KEY: 'qrs_ab\n' }).settings.clientKey, 'qrs_ab');
});

test('an unknown name is refused, and the probably intended one named', () => {
  assert.equal(refusal({ QRS_PROT: '1' }), 'QRS_PROT (in the environment) is no setting; did you mean QRS_PORT?');
  assert.equal(
    refusal({}, { 'qrs.env': '\nQRS_DATADIR=/x' }),
    'QRS_DATADIR (in qrs.env, line 2) is no setting; did you mean QRS_DATA_DIR?',
  );
  assert.equal(
    refusal({ QRS_XYZZY_PLUGH: '1' }),
    'QRS_XYZZY_PLUGH (in the environment) is no setting; `qrs config` lists all',
  );
});

test('a file with a line that is not NAME=VALUE is refused, with the line', () => {
  assert.equal(refusal({}, { 'qrs.env': 'QRS_PORT=1\nexport A B' }), 'qrs.env, line 2: expected NAME=VALUE');
  assert.equal(
    refusal({}, { 'qrs.env': 'QRS_PORT=1\n\nQRS_PORT=2' }),
    'qrs.env, line 3: QRS_PORT is set already in line 1',
  );
  assert.equal(
    refusal({}, { 'qrs.env': 'QRS_CONFIG_FILE=a' }),
    'qrs.env, line 1: QRS_CONFIG_FILE is read from the environment only',
  );
});
