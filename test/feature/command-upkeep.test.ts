/** `qrs sweep` and `qrs verify`. */
import assert from 'node:assert/strict';
import { mkdir, readdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type CommandLine, makeCommandLine } from './command.ts';

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

async function objectsOf(qrs: CommandLine): Promise<readonly string[]> {
  const names = await readdir(join(qrs.dataDir, 'results'), { recursive: true });
  return names.filter((name) => name.endsWith('.parquet')).sort();
}

test('a sweep deletes what has expired, and nothing else', async (t) => {
  const { qrs, ids } = await withResults(t, 2);
  assert.equal(await qrs.get('sweep'), 'expired=0\norphans=0\nbytes=0');
  qrs.now += 90 * 24 * 60 * 60 * 1000 - 2000;
  const swept = JSON.parse(await qrs.get('sweep', '--json'));
  assert.equal(swept.expired, 1);
  assert.equal(swept.orphans, 0);
  assert(swept.bytes > 0);
  const objects = await objectsOf(qrs);
  assert.equal(objects.length, 1);
  assert(objects[0]?.startsWith(`${ids[1]}/`));
  assert.equal(await qrs.get('executions', 'list', '--state', 'expired'), ids[0]);
});

test('a sweep deletes what no result and no writer owns', async (t) => {
  const { qrs } = await withResults(t, 1);
  const orphan = join(qrs.dataDir, 'results', '01HR0000000000000000000000', '5');
  await mkdir(orphan, { recursive: true });
  await writeFile(join(orphan, 'part-00000.parquet'), 'half');
  assert.equal(await qrs.get('sweep'), 'expired=0\norphans=1\nbytes=4');
  assert.equal((await objectsOf(qrs)).length, 1);
});

test('verify finds nothing wrong with what is whole', async (t) => {
  const { qrs } = await withResults(t, 2);
  assert.deepEqual(await qrs.run(['verify']), { code: 0, out: '', err: '2 stored objects, none damaged\n' });
  assert.deepEqual(JSON.parse(await qrs.get('verify', '--json')), { checked: 2, damaged: [] });
});

test('verify names what is damaged, and exits with 1', async (t) => {
  const { qrs, ids } = await withResults(t, 2);
  const [damaged] = (await objectsOf(qrs)).filter((key) => key.startsWith(`${ids[0]}/`));
  assert(damaged !== undefined);
  await truncate(join(qrs.dataDir, 'results', damaged), 100);
  const { code, out, err } = await qrs.run(['verify']);
  assert.deepEqual({ code, out }, { code: 1, out: `${damaged}\n` });
  assert.match(err, /^stored object \S+ is damaged: [^\n]+\nerror: 1 of 2 stored objects damaged\n$/);
  const json = await qrs.run(['verify', '--json']);
  assert.equal(json.code, 1);
  assert.equal(JSON.parse(json.out).damaged[0].key, damaged);
});
