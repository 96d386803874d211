/** What is wrong with the settings of an engine is told before anything runs. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { sleep } from '../../test/real-time.ts';
import { type Engine, EngineError } from '../engine/engine.ts';
import { DiskRoom } from '../files/disk-room.ts';
import { loadSettings } from '../settings/load-settings.ts';
import { engineInRoom, openEngine, placeOfSources } from './engine.ts';

const folder = await mkdtemp(join(tmpdir(), 'qrs-engine-'));
after(() => rm(folder, { recursive: true, force: true }));

async function open(environment: Readonly<Record<string, string>>): Promise<void> {
  const { settings } = loadSettings({ environment, readFile: () => undefined });
  await using _ = await openEngine(settings, { sources: folder, temp: folder }, sleep);
}

const URL = 'trino://qrs@localhost:8443/lake?tls=true';

test('a token is not sent without TLS', async () => {
  await assert.rejects(open({ QRS_ENGINE_URL: 'trino://qrs@localhost:8080/lake', QRS_TRINO_TOKEN: 'eyJ.t' }), {
    name: 'StartupError',
    message: 'QRS_TRINO_TOKEN is sent over TLS only: add tls=true to QRS_ENGINE_URL',
  });
  await open({ QRS_ENGINE_URL: URL, QRS_TRINO_TOKEN: 'eyJ.t' });
});

test('a file of certificates that is missing, or holds none, is named', async () => {
  const path = join(folder, 'ca.pem');
  await assert.rejects(open({ QRS_ENGINE_URL: URL, QRS_TRINO_CA_FILE: path }), {
    name: 'StartupError',
    message: `QRS_TRINO_CA_FILE: ${path} cannot be read (ENOENT)`,
  });
  await writeFile(path, 'nothing');
  await assert.rejects(open({ QRS_ENGINE_URL: URL, QRS_TRINO_CA_FILE: path }), {
    message: `QRS_TRINO_CA_FILE: ${path} holds no certificate (PEM)`,
  });
});

test('where source tables are is said without a password', () => {
  const { settings } = loadSettings({
    environment: { QRS_ENGINE_URL: 'trino://qrs:s3cret@trino.example.com/lake' },
    readFile: () => undefined,
  });
  assert.equal(placeOfSources(settings, folder), 'the catalog lake of the Trino at https://trino.example.com');
});

test('on a full disk a query is run once more when something was removed, and one that failed by itself is not', async () => {
  const room = new DiskRoom();
  let removable = 1;
  room.add(async () => [{ bytes: 1, usedAt: 0, remove: async () => removable-- > 0 }]);
  const full = new EngineError('engine_error', 'run it again', {
    cause: new Error('IO Error: Could not write file "/data/tmp/rows.parquet": No space left on device'),
  });
  const outcomes = [full, { columns: [], rowCount: 5 }, new EngineError('execution_error', 'no number'), full];
  const engine: Engine = {
    materialize: async () => {
      const outcome = outcomes.shift() ?? assert.fail('run too often');
      if (outcome instanceof Error) throw outcome;
      return outcome;
    },
    check: async () => undefined,
    hasAny: async () => true,
    async [Symbol.asyncDispose]() {},
  };
  const inRoom = engineInRoom(engine, room);
  const run = async () =>
    await inRoom.materialize({ sql: 'SELECT 1', sources: [] }, '/rows.parquet', new AbortController().signal);
  assert.deepEqual(await run(), { columns: [], rowCount: 5 });
  await assert.rejects(run(), { message: 'no number' });
  await assert.rejects(run(), full);
});
