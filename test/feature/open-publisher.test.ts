/**
 * Publishing from a program, without an installed package (package.test.ts has that): where the settings come from. What a publisher does
 * is in test/contract/publisher.test.ts.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { requireNode } from '../../src/library/node-version.ts';
import { openPublisher, StartupError } from '../../src/publisher.ts';
import { makeCommandLine } from './command.ts';

test('the given configuration file is read; the environment wins over it', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'qrs-publisher-'));
  t.after(async () => await rm(directory, { recursive: true, force: true }));
  const qrs = await makeCommandLine(t);
  await qrs.get('users', 'add', 'ann');
  await qrs.get('queries', 'add', '--id', '7', '--user', 'ann');
  const file = join(directory, 'qrs.env');
  const given = { QRS_DATA_DIR: qrs.dataDir, ...qrs.catalog, QRS_RETENTION_DAYS: '3' };
  const lines = Object.entries(given).map(([name, value]) => `${name}=${value}\n`);
  await writeFile(file, lines.join(''));
  await using publisher = await openPublisher({ QRS_CONFIG_FILE: file, QRS_RETENTION_DAYS: '2' });
  const source = { kind: 'stream', stream: Readable.from([Buffer.from('n\n1\n')]) } as const;
  const { id, endedAt = 0, expiresAt = 0 } = await publisher.publish({ queryId: 7, source, format: 'csv' });
  assert.equal(expiresAt - endedAt, 2 * 86_400_000);
  assert.equal(await qrs.get('executions', 'list', '--query', '7'), id);
});

test('a configuration file that does not exist is refused', async () => {
  await assert.rejects(openPublisher({ QRS_CONFIG_FILE: '/none/qrs.env' }), {
    message: 'QRS_CONFIG_FILE names /none/qrs.env, which does not exist',
  });
});

test('a Node that is too old is named at once', () => {
  assert.throws(() => requireNode('20.20.2'), {
    name: 'StartupError',
    message: 'openPublisher needs Node 22.16 or later, and this is Node 20.20.2',
  });
  assert.throws(() => requireNode('22.15.9'), StartupError);
  for (const version of ['22.16.0', '23.0.0', '24.21.0', '100.0.0-nightly']) requireNode(version);
});

test('a service is named by its address and a key; what cannot be one is refused at once', async () => {
  const key = 'k';
  for (const url of ['results.example.com', 'ftp://results.example.com', 'http://x/?a=b', '']) {
    await assert.rejects(openPublisher({ url, key }), {
      name: 'SettingsError',
      message: `url: found ${JSON.stringify(url)}, expected one such as https://results.example.com`,
    });
  }
  for (const secret of ['qrs_0123456789', 'https://results.example.com/?api_key=qrs_0123456789']) {
    const message = 'url: expected one such as https://results.example.com';
    await assert.rejects(openPublisher({ url: secret, key }), { name: 'SettingsError', message });
  }
  const url = 'http://127.0.0.1:1';
  const noKey = 'key: expected an API key, as `qrs keys create --scope write` prints it';
  for (const wrong of ['', 'two words', 'line\n']) {
    await assert.rejects(openPublisher({ url, key: wrong }), { name: 'SettingsError', message: noKey });
  }
  await assert.rejects(openPublisher({ url }), { message: noKey });
  await assert.rejects(openPublisher({ url, key, retries: -1 }), {
    message: 'retries: found -1, expected a whole number from 0 to 100',
  });
  await assert.rejects(openPublisher({ url, key, retrys: '3' }), {
    message: 'openPublisher has no option "retrys" beside a url; expected url, key, retries',
  });
});
