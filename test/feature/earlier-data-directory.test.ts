/** A data directory that an earlier release has filled, opened by today's service: what lies there is read as it is. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { QRS, Replica } from '../../cluster/replica.ts';
import { makeRelease, RELEASES, RELEASES_MISSING } from '../earlier-release.ts';
import { ask, rowsOf, SharedSettings } from './release-commands.ts';

test('a data directory of an earlier release is served as it is, its results included', {
  skip: RELEASES_MISSING ?? false,
}, async (t) => {
  using release = makeRelease(RELEASES.withoutBlocks);
  const { program } = release;
  const given = new SharedSettings(t, (folder) => ({ QRS_DATA_DIR: join(folder, 'data') }));
  given.run(program, ['users', 'add', 'ann']);
  const key = given.run(program, ['keys', 'create', '--user', 'ann']);
  given.run(program, ['queries', 'add', '--id', '7', '--user', 'ann']);
  const rows = Array.from({ length: 40_000 }, (_, n) => ({ n, name: n % 5 === 0 ? null : `name ${n % 1000}` }));
  const csv = join(given.folder, 'rows.csv');
  writeFileSync(csv, `n,name\n${rows.map(({ n, name }) => `${n},${name ?? ''}\n`).join('')}`);
  const id = given.run(program, ['publish', csv, '--query', '7']);

  const folder = join(given.folder, 'data');
  const environment = { ...process.env, QRS_DATA_DIR: folder };
  const replica = await Replica.start({ name: 'data', folder: given.folder, environment });
  t.after(async () => await replica.kill());
  const path = `/v1/execution/${id}/results`;
  const slice = async (from: number, count: number) =>
    await rowsOf(replica, key, `${path}?offset=${from}&limit=${count}`);
  for (const from of [0, 16_380, 32_767, 39_990]) assert.deepEqual(await slice(from, 20), rows.slice(from, from + 20));
  // Twice: the second time a row file is built.
  assert.deepEqual(await slice(16_380, 20), rows.slice(16_380, 16_400));
  const filtered = await rowsOf(replica, key, `/v1/query/7/results?filters=name%20%3D%20'name%20999'&sort_by=n%20desc`);
  assert.deepEqual(filtered, rows.filter(({ name }) => name === 'name 999').toReversed());
  assert.equal(given.run(QRS, ['verify']), '');
  given.run(QRS, ['sweep']);
  const ndjson = await ask(replica, key, `${path}?format=ndjson&ignore_max_datapoints_per_request=true`);
  assert.equal(ndjson.text, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  await replica.stop();
  const { code, err } = given.tryTo(program, ['keys', 'list']);
  assert.equal(code, 1);
  assert.match(err, /made by a newer release/);
});
