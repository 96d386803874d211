/** `qrs sweep` and `qrs verify`. */
import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { NO_RESULTS_FOLDER } from '../s3-server.ts';
import { openBehind, storedKeys } from './behind-the-command.ts';
import { type CommandLine, makeCommandLine } from './command.ts';
import { replaceObject } from './replace-object.ts';

async function withResults(t: TestContext, count: number): Promise<{ qrs: CommandLine; ids: readonly string[] }> {
  const qrs = await makeCommandLine(t);
  await qrs.get('users', 'add', 'ann');
  await qrs.get('queries', 'add', '--id', '7', '--user', 'ann');
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const { out, err } = await qrs.run(['publish', '-', '--query', '7', '--format', 'csv'], 'n\n1\n2\n');
    assert.equal(err, '');
    ids.push(out.trim());
    qrs.now += 1000;
  }
  return { qrs, ids };
}

/** Puts these bytes into the store, as somebody who is not a command. */
async function put(qrs: CommandLine, key: string, bytes: string): Promise<void> {
  await using behind = await openBehind(qrs);
  await replaceObject(await behind.store(), qrs.directory, key, bytes);
}

test('a sweep deletes expired results, and nothing else', async (t) => {
  const { qrs, ids } = await withResults(t, 2);
  assert.equal(await qrs.get('sweep'), 'expired=0\norphans=0\nbytes=0');
  // The 90 days of the first result, and the minute that a read of it may take.
  qrs.now += 90 * 24 * 60 * 60 * 1000 + 60_000 - 2000;
  const swept = JSON.parse(await qrs.get('sweep', '--yes', '--json'));
  assert.equal(swept.expired, 1);
  assert.equal(swept.orphans, 0);
  assert(swept.bytes > 0);
  const objects = await storedKeys(qrs);
  assert.equal(objects.length, 1);
  assert(objects[0]?.startsWith(`${ids[1]}/`));
  assert.equal(await qrs.get('executions', 'list', '--state', 'expired'), ids[0]);
});

test('a sweep deletes objects that belong to no result and no writer', async (t) => {
  const { qrs } = await withResults(t, 1);
  await put(qrs, '01HR0000000000000000000000/5/part-00000.parquet', 'half');
  assert.equal(await qrs.get('sweep'), 'expired=0\norphans=1\nbytes=4');
  assert.equal((await storedKeys(qrs)).length, 1);
});

test('a sweep leaves alone what it did not write, whatever its name and place, and is not stopped by it', {
  skip: NO_RESULTS_FOLDER,
}, async (t) => {
  const { qrs, ids } = await withResults(t, 1);
  const run = '01HR0000000000000000000000';
  const foreign = [
    `results/${run}/mine.txt`,
    `results/${run}/5/part-0.parquet`,
    'results/a name with blanks/file',
    `results/staging/${run}.7`,
    'staging/mine.txt',
    'views/1999-backup/mine.txt',
  ];
  for (const path of foreign) {
    await mkdir(join(qrs.dataDir, path, '..'), { recursive: true });
    await writeFile(join(qrs.dataDir, path), 'mine');
  }
  const folder = join(qrs.dataDir, 'results', run, 'empty');
  await mkdir(folder);
  assert.equal(await qrs.get('sweep'), 'expired=0\norphans=0\nbytes=0');
  for (const path of foreign) assert.equal(await readFile(join(qrs.dataDir, path), 'utf8'), 'mine', path);
  assert.deepEqual(await readdir(folder), []);
  assert.equal((await storedKeys(qrs)).filter((key) => key.startsWith(ids[0] ?? '')).length, 1);
});

test('a sweep removes the empty folders that a crash leaves', { skip: NO_RESULTS_FOLDER }, async (t) => {
  const { qrs, ids } = await withResults(t, 1);
  await mkdir(join(qrs.dataDir, 'results', '01HR0000000000000000000000', '5'), { recursive: true });
  await mkdir(join(qrs.dataDir, 'results', '01HR0000000000000000000001'));
  await qrs.get('sweep');
  const runs = (await readdir(join(qrs.dataDir, 'results'))).filter((name) => name.startsWith('01'));
  assert.deepEqual(runs, ids);
});

test('overlapping folders are refused before anything is written', { skip: NO_RESULTS_FOLDER }, async (t) => {
  const refused = async (environment: (directory: string) => Readonly<Record<string, string>>) => {
    const qrs = await makeCommandLine(t, environment);
    const { code, err } = await qrs.run(['sweep']);
    assert.equal(code, 1);
    await assert.rejects(readdir(qrs.dataDir), { code: 'ENOENT' });
    return err.replaceAll(qrs.directory, '').trim();
  };
  assert.equal(
    await refused((directory) => ({ QRS_STORE_URL: `file:${directory}/data` })),
    'error: the data directory (QRS_DATA_DIR), /data, is the same folder as the store (QRS_STORE_URL), /data: give each a place of its own',
  );
  assert.match(
    await refused((directory) => ({ QRS_STORE_URL: `file:${directory}` })),
    /^error: the data directory \(QRS_DATA_DIR\), \/data, lies inside of the store/,
  );
  assert.match(
    await refused((directory) => ({ QRS_STORE_URL: `file:${directory}/data/views/x` })),
    /the store \(QRS_STORE_URL\), \/data\/views\/x, lies inside of the folder of views, \/data\/views/,
  );
  assert.match(
    await refused((directory) => ({ QRS_SOURCES_DIR: `${directory}/data/results` })),
    /the store \(QRS_STORE_URL\), \/data\/results, is the same folder as the source tables \(QRS_SOURCES_DIR\)/,
  );
  assert.match(
    await refused((directory) => ({ QRS_CATALOG_URL: `sqlite:${directory}/data/results/c.sqlite` })),
    /the catalog \(QRS_CATALOG_URL\), \/data\/results\/c\.sqlite, lies inside of the store/,
  );
});

test('a symbolic link to a folder counts as that folder', async (t) => {
  const qrs = await makeCommandLine(t, (directory) => ({ QRS_STORE_URL: `file:${directory}/link` }));
  await mkdir(join(qrs.dataDir, 'tmp'), { recursive: true });
  await symlink(join(qrs.dataDir, 'tmp'), join(qrs.directory, 'link'));
  assert.match((await qrs.run(['sweep'])).err, /\/link, is the same folder as the folder of temporary files, /);
});

test('verify finds nothing wrong with undamaged results', async (t) => {
  const { qrs } = await withResults(t, 2);
  assert.deepEqual(await qrs.run(['verify']), { code: 0, out: '', err: '2 stored objects, none damaged\n' });
  assert.deepEqual(JSON.parse(await qrs.get('verify', '--json')), { checked: 2, damaged: [] });
});

test('verify names what is damaged, and exits with 1', async (t) => {
  const { qrs, ids } = await withResults(t, 2);
  const [damaged] = (await storedKeys(qrs)).filter((key) => key.startsWith(`${ids[0]}/`));
  assert(damaged !== undefined);
  await put(qrs, damaged, 'something else');
  const { code, out, err } = await qrs.run(['verify']);
  assert.deepEqual({ code, out }, { code: 1, out: `${damaged}\n` });
  assert.match(err, /^stored object \S+ is damaged: [^\n]+\nerror: 1 of 2 stored objects damaged\n$/);
  const json = await qrs.run(['verify', '--json']);
  assert.equal(json.code, 1);
  assert.equal(JSON.parse(json.out).damaged[0].key, damaged);
});
