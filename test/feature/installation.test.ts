/** The catalog and the store carry the id of one installation. A command that finds another id stops, and has deleted nothing. */
import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { type CommandLine, makeCommandLine } from './command.ts';

async function withResult(t: TestContext): Promise<CommandLine> {
  const qrs = await makeCommandLine(t);
  await addQuery(qrs);
  await publish(qrs);
  return qrs;
}

async function addQuery(qrs: CommandLine): Promise<void> {
  await qrs.get('users', 'add', 'ann');
  await qrs.get('queries', 'add', '--id', '7', '--user', 'ann');
}

async function publish(qrs: CommandLine): Promise<void> {
  assert.equal((await qrs.run(['publish', '-', '--query', '7', '--format', 'csv'], 'n\n1\n')).err, '');
}

async function objectsOf(folder: string): Promise<readonly string[]> {
  return (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.parquet')).sort();
}

const idOf = async (store: string) => (await readFile(join(store, 'installation.txt'), 'utf8')).split('\n')[0];

async function refusal(qrs: CommandLine, ...args: readonly string[]): Promise<string> {
  const { code, err } = await qrs.run(args);
  assert.equal(code, 1, `${args.join(' ')} was not refused`);
  return err;
}

/** Leaves catalog and store as a release before installation ids did. */
async function forgetIds(qrs: CommandLine): Promise<void> {
  await rm(join(qrs.dataDir, 'results', 'installation.txt'));
  using database = new DatabaseSync(join(qrs.dataDir, 'catalog.sqlite'));
  database.exec('delete from installation');
}

test('the first use writes one id into both', async (t) => {
  const qrs = await withResult(t);
  const store = join(qrs.dataDir, 'results');
  assert.match((await idOf(store)) ?? '', /^[0-9a-f-]{36}$/);
  const finding = JSON.parse(await qrs.get('doctor', '--json')).find(
    ({ check }: { readonly check: string }) => check === 'installation',
  );
  assert.equal(finding.found, `the catalog and the store are those of installation ${await idOf(store)}`);
});

test("a new catalog, or another installation's, stops every command that uses the store, and deletes nothing", async (t) => {
  const qrs = await withResult(t);
  const store = join(qrs.dataDir, 'results');
  const before = await objectsOf(store);
  assert.equal(before.length, 1);
  const mistyped = await makeCommandLine(t, (directory) => ({
    QRS_DATA_DIR: qrs.dataDir,
    QRS_CATALOG_URL: `sqlite:${directory}/catalogue.sqlite`,
  }));
  const other = await makeCommandLine(t, () => ({ QRS_STORE_URL: `file:${store}` }));
  await addQuery(other);
  for (const wrong of [mistyped, other]) {
    for (const args of [['sweep'], ['verify'], ['serve']]) {
      assert.match(
        await refusal(wrong, ...args),
        /^error: the catalog and the store do not belong together: the store is that of installation \S+, the catalog of none yet; check QRS_DATA_DIR[^\n]+`qrs doctor --adopt`[^\n]+\n$/,
      );
    }
  }
  assert.match(await refusal(other, 'publish', '-', '--query', '7', '--format', 'csv'), /do not belong together/);
  assert.match((await other.run(['doctor'])).out, /\nwrong {4}installation: the catalog and the store do not/);
  assert.deepEqual(await objectsOf(store), before);
  assert.equal(await qrs.get('sweep'), 'expired=0\norphans=0\nbytes=0');
});

test('a catalog that is gone, or a results folder that is gone, is not silently made anew', async (t) => {
  const qrs = await withResult(t);
  await rename(join(qrs.dataDir, 'results'), join(qrs.directory, 'unmounted'));
  assert.match(await refusal(qrs, 'serve'), /the catalog has results, and the store has none of them \(1 were looked/);
  await rm(join(qrs.dataDir, 'results'), { recursive: true });
  await rename(join(qrs.directory, 'unmounted'), join(qrs.dataDir, 'results'));
  await qrs.get('sweep');
  for (const name of await readdir(qrs.dataDir)) {
    if (name.startsWith('catalog.sqlite')) await rm(join(qrs.dataDir, name));
  }
  assert.match(await refusal(qrs, 'serve'), /the store is that of installation \S+, the catalog of none yet/);
  assert.equal((await objectsOf(join(qrs.dataDir, 'results'))).length, 1);
});

test('an id that is there and cannot be read is not taken for none, and the refusal says what to do', async (t) => {
  const qrs = await withResult(t);
  const path = join(qrs.dataDir, 'results', 'installation.txt');
  // For everybody, whoever runs this test: a folder is read by nobody as a file.
  await rm(path);
  await mkdir(path);
  const line = `error: ${path}, which says whose results these are, cannot be read; give this user the right to, or restore it from a backup (EISDIR)\n`;
  for (const args of [['serve'], ['sweep'], ['verify']]) assert.equal(await refusal(qrs, ...args), line);
});

test('a results folder that is a link to a disk which is not mounted is named as that', async (t) => {
  const qrs = await withResult(t);
  const store = join(qrs.dataDir, 'results');
  await rename(store, join(qrs.directory, 'disk'));
  await symlink(join(qrs.directory, 'disk'), store);
  assert.equal(await qrs.get('verify'), '');
  await rename(join(qrs.directory, 'disk'), join(qrs.directory, 'elsewhere'));
  const line = `error: ${store} is a link to a folder that is not there, or lies in one; mount its disk or mend the link, or set QRS_STORE_URL (ENOLINK)\n`;
  for (const args of [['serve'], ['sweep'], ['verify']]) assert.equal(await refusal(qrs, ...args), line);
  await rename(join(qrs.directory, 'elsewhere'), join(qrs.directory, 'disk'));
  assert.equal(await qrs.get('verify'), '');
});

test('an installation from before ids gets one if its catalog and its store share a result', async (t) => {
  const qrs = await withResult(t);
  await forgetIds(qrs);
  assert.equal(await qrs.get('sweep'), 'expired=0\norphans=0\nbytes=0');
  assert.match((await idOf(join(qrs.dataDir, 'results'))) ?? '', /^[0-9a-f-]{36}$/);
});

test('it gets none if the store has results that the catalog does not know', async (t) => {
  const [one, other] = [await withResult(t), await withResult(t)];
  await forgetIds(one);
  await forgetIds(other);
  const mixed = await makeCommandLine(t, () => ({
    QRS_STORE_URL: `file:${one.dataDir}/results`,
    QRS_CATALOG_URL: `sqlite:${other.dataDir}/catalog.sqlite`,
  }));
  assert.match(await refusal(mixed, 'sweep'), /the catalog has results, and the store has none of them/);
  const fresh = await makeCommandLine(t, () => ({ QRS_STORE_URL: `file:${one.dataDir}/results` }));
  assert.match(
    await refusal(fresh, 'sweep'),
    /the store has results \(\S+\), and the catalog, which may be new, knows none/,
  );
  assert.equal((await objectsOf(join(one.dataDir, 'results'))).length, 1);
});

test('qrs doctor --adopt joins them on purpose, says what that means, and shuts the other catalog out', async (t) => {
  const qrs = await withResult(t);
  const store = join(qrs.dataDir, 'results');
  const other = await makeCommandLine(t, () => ({ QRS_STORE_URL: `file:${store}` }));
  await addQuery(other);
  const { code, err } = await other.run(['doctor', '--adopt']);
  assert.equal(code, 0);
  assert.equal(
    err,
    'the catalog and the store belong together now\n1 result in the store is not in the catalog: the sweep deletes it\n',
  );
  await publish(other);
  assert.match(await refusal(qrs, 'sweep'), /the store is that of installation \S+, the catalog of installation \S+;/);
  assert.equal((await objectsOf(store)).length, 2);
});
