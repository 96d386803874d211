/** `/readyz` is ready only while the service can do its work, and says what is missing. */
import assert from 'node:assert/strict';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { CatalogUnavailable } from '../../src/errors/catalog-unavailable.ts';
import { NO_CATALOG_FILE } from '../postgres-server.ts';
import { NO_RESULTS_FOLDER } from '../s3-server.ts';
import { type HttpService, startHttpService } from './http-service.ts';

/** Asks a fresh service each time, since an outcome is kept for a second. */
async function readiness(service: HttpService): Promise<readonly [number, string | null, string]> {
  const answer = await service.get('/readyz', { key: '' });
  return [answer.status, answer.headers.get('x-error-code'), await answer.text()];
}

const missing = (what: string) => [503, 'not_ready', JSON.stringify({ error: `not ready: ${what}` })];

function catalogOf(service: HttpService): DatabaseSync {
  return new DatabaseSync(join(service.commandLine.dataDir, 'catalog.sqlite'));
}

const results = (service: HttpService) => join(service.commandLine.dataDir, 'results');

test('all is well', async (t) => {
  assert.deepEqual(await readiness(await startHttpService(t)), [200, null, '{"status":"ready"}']);
});

test('no commit goes through', { skip: NO_CATALOG_FILE }, async (t) => {
  const service = await startHttpService(t);
  using catalog = catalogOf(service);
  catalog.exec(`create trigger refuse before update on probes begin select raise(abort, 'disk I/O error'); end`);
  assert.deepEqual(await readiness(service), missing('the catalog: disk I/O error'));
  assert.equal((await service.get('/healthz', { key: '' })).status, 200);
  assert.equal(service.faults.length, 1);
});

test('another process has brought the catalog to a newer schema', { skip: NO_CATALOG_FILE }, async (t) => {
  const service = await startHttpService(t);
  using catalog = catalogOf(service);
  catalog.exec('pragma user_version = 999; update compatibility set usable_from = 999');
  const [status, code, text] = await readiness(service);
  assert.deepEqual([status, code], [503, 'not_ready']);
  assert.match(text, /the catalog: it has version 999, made by a newer release/);
});

test('the catalog was replaced', { skip: NO_CATALOG_FILE }, async (t) => {
  const service = await startHttpService(t);
  const path = join(service.commandLine.dataDir, 'catalog.sqlite');
  await rename(path, `${path}.away`);
  const [, , text] = await readiness(service);
  assert.match(text, /the catalog: its file is gone, or is another than was opened/);
});

test('the results are gone, and the folder is not silently made anew', { skip: NO_RESULTS_FOLDER }, async (t) => {
  const service = await startHttpService(t);
  await service.publish(7, 'n\n1\n');
  await rename(results(service), `${results(service)}.away`);
  const [status, code, text] = await readiness(service);
  assert.deepEqual([status, code], [503, 'not_ready']);
  assert.match(text, /the store: its folder is gone/);
  assert.equal((await service.commandLine.run(['doctor'])).code, 1);
});

test('the results belong to another installation', async (t) => {
  const service = await startHttpService(t);
  await (await service.store()).setInstallation('another');
  assert.deepEqual(await readiness(service), missing('the store: it is not the one that belongs to the catalog'));
});

test('whose results they are cannot be asked: nobody is told that they are of another installation', async (t) => {
  const service = await startHttpService(t);
  const { installation } = await service.catalog();
  t.mock.method(installation, 'findId', async () => {
    throw new CatalogUnavailable('the catalog cannot be reached at the moment');
  });
  assert.deepEqual(await readiness(service), missing('the store: whether it belongs to the catalog cannot be told'));
});

test('nothing can be staged', { skip: NO_RESULTS_FOLDER }, async (t) => {
  const service = await startHttpService(t);
  await rm(join(results(service), 'staging'), { recursive: true, force: true });
  await writeFile(join(results(service), 'staging'), 'in the way');
  assert.deepEqual(await readiness(service), missing('the store: nothing can be written to it (EEXIST)'));
});
