/** Publishing from a program, without a package in between (package.test.ts has that): where it takes its settings from. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { openPublisher } from '../../src/publisher.ts';
import { makeCommandLine } from './command.ts';

test('the configuration file that it is given is read; the environment wins over it', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'qrs-publisher-'));
  t.after(async () => await rm(directory, { recursive: true, force: true }));
  const qrs = await makeCommandLine(t);
  await qrs.get('users', 'add', 'ann');
  await qrs.get('queries', 'add', '--id', '7', '--user', 'ann');
  const file = join(directory, 'qrs.env');
  await writeFile(file, `QRS_DATA_DIR=${qrs.dataDir}\nQRS_RETENTION_DAYS=3\n`);
  await using publisher = await openPublisher({ QRS_CONFIG_FILE: file, QRS_RETENTION_DAYS: '2' });
  const source = { kind: 'stream', stream: Readable.from([Buffer.from('n\n1\n')]) } as const;
  const { id, endedAt = 0, expiresAt = 0 } = await publisher.publish({ queryId: 7, source, format: 'csv' });
  assert.equal(expiresAt - endedAt, 2 * 86_400_000);
  assert.equal(await qrs.get('executions', 'list', '--query', '7'), id);
});

test('one that is not there is refused', async () => {
  await assert.rejects(openPublisher({ QRS_CONFIG_FILE: '/none/qrs.env' }), {
    message: 'QRS_CONFIG_FILE names /none/qrs.env, which does not exist',
  });
});
