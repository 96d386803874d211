/** A catalog that is put back to an earlier moment, beside a store that has what came after it. */
import assert from 'node:assert/strict';
import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { NO_CATALOG_FILE } from '../postgres-server.ts';
import { type CommandLine, makeCommandLine } from './command.ts';
import { openServer } from './http-service.ts';

const HOUR_MILLIS = 3_600_000;

async function makeService(t: TestContext): Promise<CommandLine> {
  const qrs = await makeCommandLine(t);
  await qrs.get('users', 'add', 'ann');
  await qrs.get('queries', 'add', '--id', '7', '--user', 'ann');
  return qrs;
}

const catalogOf = (qrs: CommandLine) => join(qrs.dataDir, 'catalog.sqlite');
const backupOf = (qrs: CommandLine) => join(qrs.directory, 'backup.sqlite');

async function backUp(qrs: CommandLine): Promise<void> {
  using database = new DatabaseSync(catalogOf(qrs));
  await backup(database, backupOf(qrs));
}

/** As the guide says: the log of the catalog that was goes with it. */
async function restore(qrs: CommandLine): Promise<void> {
  for (const ending of ['', '-wal', '-shm']) await rm(`${catalogOf(qrs)}${ending}`, { force: true });
  await copyFile(backupOf(qrs), catalogOf(qrs));
}

async function publish(qrs: CommandLine, csv: string, ...more: readonly string[]): Promise<void> {
  const { err } = await qrs.run(['publish', '-', '--query', '7', '--format', 'csv', ...more], csv);
  assert.equal(err, '');
}

test('a run that was pending in the backup, and has been stored since, is stored once more with other rows', {
  skip: NO_CATALOG_FILE,
}, async (t) => {
  const qrs = await makeService(t);
  await publish(qrs, 'n\n0\n');
  const id = await qrs.get('executions', 'submit', '--query', '7');
  await backUp(qrs);
  qrs.now += HOUR_MILLIS;
  await publish(qrs, 'n\n1\n', '--execution', id);
  await restore(qrs);
  qrs.now += HOUR_MILLIS;
  await publish(qrs, 'n\n2\n', '--execution', id);
  assert.equal(await qrs.get('rows', '7', '--format', 'csv'), 'n\n2');
  assert.equal(await qrs.get('verify'), '');
  // The first one is a leftover.
  assert.equal((await qrs.get('sweep')).split('\n')[1], 'orphans=1');
  assert.equal(await qrs.get('rows', '7', '--format', 'csv'), 'n\n2');
});

test('a client that kept an answer about the rows of before the restore is not told that it still holds', {
  skip: NO_CATALOG_FILE,
}, async (t) => {
  const qrs = await makeService(t);
  const key = await qrs.get('keys', 'create', '--user', 'ann');
  const whole = await qrs.run(['publish', '-', '--query', '7', '--format', 'csv'], 'n\n5\n');
  const id = await qrs.get('executions', 'submit', '--query', '7');
  await backUp(qrs);
  const paths = [
    `/v1/execution/${id}/results`,
    `/v1/execution/${id}/results/csv?filters=n%3E0`,
    `/v1/execution/${id}/statistics`,
    `/v1/execution/${id}/diff/${whole.out.trim()}`,
    `/v1/execution/${whole.out.trim()}/diff/${id}`,
  ];
  const ask = async (known: readonly string[]) => {
    const { server, close } = await openServer(qrs, {});
    try {
      const answers = paths.map(async (path, index) => {
        const headers = { 'x-service-api-key': key, 'if-none-match': known[index] ?? '"none"' };
        const answer = await fetch(server.url + path, { headers });
        return { path, status: answer.status, etag: answer.headers.get('etag') ?? '', text: await answer.text() };
      });
      return await Promise.all(answers);
    } finally {
      await close();
    }
  };
  qrs.now += HOUR_MILLIS;
  await publish(qrs, 'n\n1\n', '--execution', id);
  const before = await ask([]);
  const etags = before.map(({ etag }) => etag);
  assert.equal(new Set(etags).size, paths.length);
  await restore(qrs);
  qrs.now += HOUR_MILLIS;
  await publish(qrs, 'n\n2\n', '--execution', id);
  for (const [index, { path, status, text }] of (await ask(etags)).entries()) {
    assert.equal(status, 200, path);
    assert.notEqual(text, before[index]?.text, path);
  }
});
