/** `qrs store copy`: results move to another store while the service runs, and are read from there when all of them are there. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { StoreUnavailable } from '../../src/errors/store-unavailable.ts';
import { copyStore, finishCopy } from '../../src/maintenance/store-copy.ts';
import { LocalResultStore } from '../../src/store/local/local-result-store.ts';
import type { ResultStore } from '../../src/store/result-store.ts';
import { S3_ENVIRONMENT, S3_MISSING, S3Server } from '../s3-server.ts';
import { type CommandLine, makeCommandLine } from './command.ts';
import { openServer } from './http-service.ts';
import { Workplace } from './publishing.ts';

const NEVER = new AbortController().signal;

let s3: S3Server | undefined;
before(async () => {
  if (S3_MISSING !== undefined) return;
  Object.assign(process.env, S3_ENVIRONMENT);
  s3 = await S3Server.start();
});
after(async () => await s3?.[Symbol.asyncDispose]());

const inFolder = (folder: string) => `file:${join(folder, 'other')}`;
const inS3 = () => `s3://${s3?.bucket}/copied?endpoint=${s3?.endpoint}`;

for (const [what, otherUrl, skip] of [
  ['a folder', inFolder, false],
  ['S3', inS3, S3_MISSING ?? false],
] as const) {
  test(`results move to ${what} while the service runs, and from there back`, { skip }, async (t) => {
    const environment: Record<string, string> = {};
    const qrs = await makeCommandLine(t, environment);
    await qrs.get('users', 'add', 'ann');
    const key = await qrs.get('keys', 'create', '--user', 'ann');
    await qrs.get('queries', 'add', '--id', '7', '--user', 'ann');
    await publish(qrs, 1);
    await publish(qrs, 20_000);
    const other = otherUrl(qrs.directory);
    const serving = await openServer(qrs, environment);
    t.after(async () => await serving.close());
    assert.deepEqual(await copy(qrs, other), { needed: 2, copied: 2, damaged: [] });
    assert.deepEqual(await copy(qrs, other), { needed: 2, copied: 0, damaged: [] }, 'what is there is passed over');
    await publish(qrs, 3);
    environment.QRS_STORE_URL = other;
    assert.match(
      (await qrs.run(['verify'])).err,
      /the store is that of installation \S+ \(a copy that is not finished\)/,
    );
    delete environment.QRS_STORE_URL;
    const early = await qrs.run(['store', 'copy', '--to', other, '--finish']);
    assert.match(early.err, /error: replicas still use the first store: test; stop them/);
    await serving.close();
    assert.deepEqual(await copy(qrs, other, '--finish'), { needed: 3, copied: 1, damaged: [] });
    assert.match((await qrs.run(['verify'])).err, /\(moved to another store\), the catalog of installation/);
    environment.QRS_STORE_URL = other;
    assert.match((await qrs.run(['verify'])).err, /^3 stored objects, none damaged\n$/);
    const again = await openServer(qrs, environment);
    t.after(async () => await again.close());
    const rows = await fetch(`${again.server.url}/v1/query/7/results/csv`, { headers: { 'x-service-api-key': key } });
    assert.equal(await rows.text(), csvOf(3));
    await again.close();
    const back = `file:${join(qrs.directory, 'back')}`;
    assert.deepEqual(await copy(qrs, back, '--finish'), { needed: 3, copied: 3, damaged: [] });
    environment.QRS_STORE_URL = back;
    assert.match((await qrs.run(['verify'])).err, /^3 stored objects, none damaged\n$/);
  });
}

test('an address that is no store is wrong usage, and a password in it is not shown', async (t) => {
  const qrs = await makeCommandLine(t);
  assert.deepEqual(await qrs.run(['store', 'copy', '--to', 'foo']), {
    code: 2,
    out: '',
    err: 'error: the other store is "foo": expected file: (in the data directory), file:/path/to/folder or s3://bucket/prefix\n',
  });
  const { code, err } = await qrs.run(['store', 'copy', '--to', 's3://id:secret@bucket/prefix']);
  assert.equal(code, 2);
  assert.match(err, /^error: the other store is "s3:\/\/id:\*\*\*@bucket\/prefix": expected no credentials in it/);
});

test('a copy that was ended goes on where it was; what was damaged on the way is not kept, and what is damaged is named', async (t) => {
  const { place, to, scratch } = await workplaceWithCopy(t);
  const dependencies = { catalog: place.catalog, from: place.store, to, scratch };
  for (let n = 0; n < 3; n += 1) await place.publish(await place.write('a.csv', `n\n${n}\n`));
  const ended = new AbortController();
  await assert.rejects(
    copyStore(dependencies, ended.signal, () => ended.abort(new Error('killed'))),
    { message: 'killed' },
  );
  const damaging = new Proxy(to, {
    get: (store, name) => {
      if (name === 'put') {
        return async (key: string, path: string) => {
          await writeFile(path, 'damaged on the way');
          await store.put(key, path, NEVER);
        };
      }
      const value: unknown = Reflect.get(store, name);
      return typeof value === 'function' ? value.bind(store) : value;
    },
  });
  await assert.rejects(copyStore({ ...dependencies, to: damaging }, NEVER), /stored object \S+ is damaged/);
  const last =
    (await Array.fromAsync(place.store.list('')))
      .map(({ key }) => key)
      .sort()
      .at(-1) ?? '';
  const path = join(place.folder, 'objects', last);
  const whole = await readFile(path);
  await writeFile(path, Buffer.concat([whole.subarray(0, 100), Buffer.alloc(whole.length - 100)]));
  const { needed, copied, damaged } = await copyStore(dependencies, NEVER);
  assert.deepEqual({ needed, copied, damaged }, { needed: 3, copied: 1, damaged: [last] });
  await writeFile(path, whole);
  assert.equal((await copyStore(dependencies, NEVER)).copied, 1);
  const keys = async (store: ResultStore) => (await Array.fromAsync(store.list(''))).map(({ key }) => key).sort();
  assert.deepEqual(await keys(to), await keys(place.store));
});

test('a store that is not empty, or another catalog’s, is not written to', async (t) => {
  const { place, to, scratch } = await workplaceWithCopy(t);
  const dependencies = { catalog: place.catalog, from: place.store, to, scratch };
  await to.setInstallation('01HSOMEBODYELSE');
  await assert.rejects(copyStore(dependencies, NEVER), {
    message: 'the other store belongs to installation 01HSOMEBODYELSE: give one that nobody uses',
  });
  assert.deepEqual(await readdir(scratch), []);
});

test('a change of place whose last step fails says how to end it by hand', async (t) => {
  const { place, to, scratch } = await workplaceWithCopy(t);
  const id = (await place.store.findInstallation()) ?? '';
  const failing: ResultStore = new Proxy(to, {
    get: (store, name) => {
      if (name === 'setInstallation') {
        return async (given: string) => {
          if (given === id) throw new StoreUnavailable('the store of results cannot be reached at the moment');
          await store.setInstallation(given);
        };
      }
      const value: unknown = Reflect.get(store, name);
      return typeof value === 'function' ? value.bind(store) : value;
    },
  });
  const dependencies = { catalog: place.catalog, from: place.store, to: failing, scratch };
  await assert.rejects(finishCopy(dependencies, { leaveDamaged: false }, NEVER), {
    message:
      'everything is copied, and the first store is marked as left, but the other one could not be marked as that of the catalog: the store of results cannot be reached at the moment; set QRS_STORE_URL to the other store, and run `qrs doctor --adopt`',
  });
  assert.equal(await place.store.findInstallation(), `${id} (moved to another store)`);
  assert.equal(await to.findInstallation(), `${id} (a copy that is not finished)`);
});

async function workplaceWithCopy(t: TestContext) {
  const place = await Workplace.open();
  const folder = await mkdtemp(join(tmpdir(), 'qrs-copy-'));
  t.after(async () => {
    await place[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });
  const scratch = await mkdtemp(join(folder, 'scratch-'));
  return { place, to: await LocalResultStore.open(join(folder, 'other')), scratch };
}

function csvOf(rows: number): string {
  return `n\n${Array.from({ length: rows }, (_, n) => `${n}\n`).join('')}`;
}

async function publish(qrs: CommandLine, rows: number): Promise<void> {
  qrs.now += 1000;
  const { code, err } = await qrs.run(['publish', '-', '--query', '7', '--format', 'csv'], csvOf(rows));
  assert.equal(code, 0, err);
}

async function copy(qrs: CommandLine, to: string, ...more: readonly string[]) {
  const { bytes, ...copied } = JSON.parse(await qrs.get('store', 'copy', '--to', to, '--json', ...more));
  assert.equal(bytes > 0, copied.copied > 0);
  return copied;
}
