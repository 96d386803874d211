/**
 * compose.cluster.yaml: several replicas with all that they share. Nothing here runs it, so its parts are held against one another: what is
 * extended, what is mounted, which names and ports meet, and that a replica's settings are ones that the service takes.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseDocument } from 'yaml';
import { loadSettings } from '../../src/settings/load-settings.ts';

const ROOT = join(import.meta.dirname, '../..');

interface ComposeService {
  readonly image?: string;
  readonly extends?: { readonly file: string; readonly service: string };
  readonly scale?: number;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly command?: readonly string[];
  /** Null is passed on as it is. */
  readonly environment?: Readonly<Record<string, string | number | null>>;
  readonly healthcheck?: object;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
}

interface ComposeFile {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, null>>;
}

/** `!reset` is compose's own: what the extended service has of this is not taken over. */
function parse(text: string): ComposeFile {
  const document = parseDocument(text, { customTags: [{ tag: '!reset', collection: 'seq', default: false }] });
  assert.deepEqual([...document.errors, ...document.warnings], []);
  return document.toJS() as ComposeFile;
}

const cluster = parse(await readFile(join(ROOT, 'compose.cluster.yaml'), 'utf8'));
const single = parse(await readFile(join(ROOT, 'compose.yaml'), 'utf8'));
const { qrs, front } = cluster.services;

/** `${NAME:-x}` where nothing is set. */
const defaulted = (value: string | number) => String(value).replace(/\$\{\w+:?-([^}]*)\}/g, '$1');

test('every image is pinned to a version, and each shared server has a health check', () => {
  for (const [name, service] of Object.entries(cluster.services)) {
    if (service.image === undefined) continue;
    assert.match(service.image, /^[a-z]+(\/[a-z]+)?:v?\d+(\.\d+)*$/, name);
    if (name !== 'front') assert.ok(service.healthcheck, name);
  }
});

test('a replica is the service of compose.yaml, twice, reached through HAProxy alone, with a data directory of its own', () => {
  assert.deepEqual(qrs?.extends, { file: 'compose.yaml', service: 'qrs' });
  assert.ok(single.services.qrs);
  assert.deepEqual([qrs?.scale, qrs?.ports, qrs?.volumes], [2, [], ['/data']]);
  assert.deepEqual(front?.ports?.map(defaulted), ['127.0.0.1:8080:8080']);
});

test('what waits for another waits for one that is there and has a health check; volumes are declared; mounted files exist', async () => {
  const dockerfile = await readFile(join(ROOT, 'Dockerfile'), 'utf8');
  for (const [name, service] of Object.entries(cluster.services)) {
    for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
      const awaited = cluster.services[other];
      assert.ok(awaited, `${name} waits for ${other}`);
      assert.equal(condition, 'service_healthy');
      assert.ok(awaited.healthcheck !== undefined || dockerfile.includes('HEALTHCHECK'), other);
    }
    for (const volume of service.volumes ?? []) {
      const [from = '', to] = volume.split(':');
      if (to === undefined) continue;
      if (from.startsWith('./')) assert.ok(existsSync(join(ROOT, from)), from);
      else assert.ok(from in cluster.volumes, from);
    }
  }
});

test('the settings of a replica are ones of the service, and name the other containers', () => {
  const passed = { ...single.services.qrs?.environment, ...qrs?.environment };
  const environment = Object.fromEntries(Object.entries(passed).map(([name, value]) => [name, defaulted(value ?? '')]));
  const { settings } = loadSettings({ environment, readFile: () => undefined });
  assert(settings.catalog.kind === 'postgres' && settings.store.kind === 's3');
  const catalog = new URL(settings.catalog.url);
  assert.deepEqual([catalog.hostname in cluster.services, catalog.port], [true, '5432']);
  const { POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB } = cluster.services.catalog?.environment ?? {};
  assert.deepEqual(
    [catalog.username, catalog.password, catalog.pathname],
    [POSTGRES_USER, defaulted(POSTGRES_PASSWORD ?? ''), `/${POSTGRES_DB}`],
  );
  const endpoint = new URL(settings.store.endpoint ?? '');
  assert.ok(endpoint.hostname in cluster.services);
  assert.ok(cluster.services.store?.command?.includes(`:${endpoint.port}`));
  assert.ok(cluster.services.store?.volumes?.includes(`store:/buckets/${settings.store.bucket}`));
  assert.deepEqual(
    [environment.AWS_ACCESS_KEY_ID, environment.AWS_SECRET_ACCESS_KEY],
    [cluster.services.store?.environment?.ROOT_ACCESS_KEY, environment.AWS_SECRET_ACCESS_KEY],
  );
});

test('Trino is asked at its name and port for the catalog that it has, whose tables are in a bucket of the store', async () => {
  const text = await readFile(join(ROOT, 'compose.cluster.yaml'), 'utf8');
  const [, QRS_ENGINE_URL = ''] = /^# +QRS_ENGINE_URL=(\S+) docker compose .* --profile trino/m.exec(text) ?? [];
  const { settings } = loadSettings({ environment: { QRS_ENGINE_URL }, readFile: () => undefined });
  assert(settings.engine.kind === 'trino');
  assert.deepEqual([settings.engine.origin, settings.engine.catalog], ['http://trino:8080', 'sources']);
  const { trino, store } = cluster.services;
  const mounted = './packaging/trino-sources.properties:/etc/trino/catalog/sources.properties:ro';
  assert.deepEqual([trino?.volumes, store?.volumes?.includes('sources:/buckets/sources')], [[mounted], true]);
  const properties = await readFile(join(ROOT, 'packaging/trino-sources.properties'), 'utf8');
  const named = new Map(
    [...properties.matchAll(/^([a-z3.-]+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
  );
  assert.equal(named.get('hive.metastore.catalog.dir'), 's3://sources/metastore');
  assert.equal(named.get('s3.endpoint'), /endpoint=(\S+)/.exec(String(qrs?.environment?.QRS_STORE_URL))?.[1]);
  for (const [, variable = ''] of properties.matchAll(/\$\{ENV:(\w+)\}/g))
    assert.ok(trino?.environment?.[variable], variable);
});

test('HAProxy looks for replicas under the name and the port that they have', async () => {
  const configuration = await readFile(join(ROOT, 'packaging/haproxy.cfg'), 'utf8');
  assert.equal(single.services.qrs?.environment?.QRS_PORT, 8080);
  const templates = [...configuration.matchAll(/^ +server-template replica- \d+ (\w+):(\d+) /gm)];
  assert.deepEqual(
    templates.map(([, name, port]) => [name, port]),
    [
      ['qrs', '8080'],
      ['qrs', '8080'],
    ],
  );
});
