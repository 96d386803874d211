/**
 * Stored parts damaged one bit at a time, in place, with the file's times set back. An answer is what was stored, or an error.
 * Over several parts of several row groups, before anything was read and after everything was.
 */
import assert from 'node:assert/strict';
import { open, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { listBlocks } from '../../src/domain/blocks.ts';
import { objectsOf, type Part, type ResultSet } from '../../src/domain/result-set.ts';
import { LocalResultStore } from '../../src/store/local/local-result-store.ts';
import { ObjectDamaged } from '../../src/store/result-store.ts';
import { type HttpService, startHttpService } from './http-service.ts';
import { Random } from './random-results.ts';

const SEED = Number(process.env.TEST_SEED ?? 1);
const CASES = Number(process.env.TEST_CASES ?? 24);
const ROW_GROUP_ROWS = 2048;
const ROWS = 9000;
/** Parts of three row groups and of two. */
const LAYOUT = { rowGroupRows: ROW_GROUP_ROWS, rowGroupsPerPart: 3, preSampleRows: 3000 };

/** A whole second, since Node sets times to the microsecond, and systems keep them to the nanosecond. */
const WRITTEN = new Date('2024-03-05T20:50:59Z');
const setTime = async (path: string) => await utimes(path, WRITTEN, WRITTEN);

interface Stored {
  readonly service: HttpService;
  readonly id: string;
  readonly resultSet: ResultSet;
}

async function publish(t: TestContext, settings = {}): Promise<Stored> {
  const service = await startHttpService(t, settings);
  const lines = Array.from({ length: ROWS }, (_, n) => `${n},text ${(n * 7919) % 1000}`);
  const { id } = await service.publish(7, `n,t\n${lines.join('\n')}\n`, LAYOUT);
  const resultSet = await (await service.catalog()).executions.findResultSet(id);
  assert(resultSet !== undefined);
  assert.deepEqual(
    resultSet.parts.map(({ blocks }) => blocks?.rows),
    [
      [ROW_GROUP_ROWS, ROW_GROUP_ROWS, ROW_GROUP_ROWS],
      [ROW_GROUP_ROWS, ROWS - 4 * ROW_GROUP_ROWS],
    ],
  );
  for (const { key } of objectsOf(resultSet)) await setTime(pathOf(service, key));
  return { service, id, resultSet };
}

function pathOf({ commandLine }: HttpService, key: string): string {
  return join(commandLine.dataDir, 'results', key);
}

/** Flips one bit of the file. A second call restores it. */
async function flip({ service }: Stored, { key }: Part, bit: number): Promise<void> {
  const path = pathOf(service, key);
  const { mtimeNs } = await stat(path, { bigint: true });
  await using file = await open(path, 'r+');
  const byte = Buffer.alloc(1);
  await file.read(byte, 0, 1, Math.floor(bit / 8));
  byte[0] = (byte[0] ?? 0) ^ (1 << (bit % 8));
  await file.write(byte, 0, 1, Math.floor(bit / 8));
  await setTime(path);
  assert.equal((await stat(path, { bigint: true })).mtimeNs, mtimeNs);
}

/** The numbers of the rows answered, or the code of the error. Each request differs, so that no answer comes from a cache. */
let asked = 0;
async function read({ service, id }: Stored, parameters: Readonly<Record<string, string>>) {
  asked += 1;
  const query = new URLSearchParams({ ...parameters, ignore_max_datapoints_per_request: 'true', asked: String(asked) });
  const response = await service.get(`/v1/execution/${id}/results?${query}`);
  const body = (await response.json()) as { readonly result: { readonly rows: readonly { readonly n: number }[] } };
  return response.status === 200 ? body.result.rows.map(({ n }) => n) : response.headers.get('x-error-code');
}

const rowsFrom = (first: number, count: number) => Array.from({ length: count }, (_, i) => first + i);

/** Asks for the first rows of the row group, and for all rows of those beside it. */
async function assertNoticed(stored: Stored, part: Part, block: number, about: string): Promise<void> {
  const groups = part.blocks?.rows ?? [];
  for (const group of groups.keys()) {
    const offset = part.firstRow + group * ROW_GROUP_ROWS;
    const found = await read(stored, { offset: String(offset), limit: '3' });
    const isHit = group === block || block === groups.length;
    assert.deepEqual(found, isHit ? 'result_damaged' : rowsFrom(offset, 3), `${about}, read from ${offset}`);
  }
  // A search reads everything.
  assert.equal(await read(stored, { filters: 'n >= 0' }), 'result_damaged', about);
}

for (const readBefore of [false, true]) {
  test(`a flipped bit is noticed ${readBefore ? 'after all has been read' : 'before anything is read'}`, async (t) => {
    const stored = await publish(t);
    const { parts } = stored.resultSet;
    const random = new Random(SEED);
    // The first and the last bit of every block, and some in between.
    const places = parts.flatMap((part) =>
      listBlocks(part.blocks ?? { rows: [], bytes: [], hashes: '' }).flatMap(({ index, offset, bytes }) =>
        [0, 8 * bytes - 1, random.below(8 * bytes)].map((bit) => ({ part, index, bit: 8 * offset + bit })),
      ),
    );
    for (let i = 0; i < CASES; i += 1) {
      const place = places[i] ?? random.pick(places);
      if (readBefore) assert.deepEqual(await read(stored, {}), rowsFrom(0, ROWS));
      await flip(stored, place.part, place.bit);
      await assertNoticed(stored, place.part, place.index, `seed ${SEED}: bit ${place.bit} of ${place.part.key}`);
      await flip(stored, place.part, place.bit);
    }
    assert.deepEqual(await read(stored, {}), rowsFrom(0, ROWS));
  });
}

test('a flipped bit of the pre-sample is noticed by samples, and by nothing else', async (t) => {
  const stored = await publish(t);
  const { preSample } = stored.resultSet;
  assert(preSample?.blocks !== undefined);
  await flip(stored, preSample, 4000);
  assert.equal(await read(stored, { sample_count: '10' }), 'result_damaged');
  assert.deepEqual(await read(stored, { limit: '3' }), [0, 1, 2]);
});

test('block hashes that do not match the file are noticed, wherever they are wrong', async (t) => {
  const stored = await publish(t);
  const { parts } = stored.resultSet;
  const [part] = parts;
  assert(part?.blocks !== undefined);
  const { rows, bytes, hashes } = part.blocks;
  const [first = 0, second = 0, ...more] = bytes;
  for (const blocks of [
    { rows: [ROW_GROUP_ROWS - 1, ROW_GROUP_ROWS + 1, ROW_GROUP_ROWS], bytes, hashes },
    { rows: [ROW_GROUP_ROWS + 2048, ROW_GROUP_ROWS, ROW_GROUP_ROWS], bytes, hashes },
    { rows, bytes: [first - 1, second + 1, ...more], hashes },
    { rows, bytes: [first, second, ...more.slice(0, -1)], hashes },
    { rows, bytes, hashes: (hashes.startsWith('A') ? 'B' : 'A') + hashes.slice(1) },
    { rows, bytes, hashes: '' },
  ]) {
    const store = await LocalResultStore.open(join(stored.service.commandLine.dataDir, 'results'));
    const open = store.open({ ...part, blocks }, { from: 0, to: 1 }, t.signal);
    await assert.rejects(open, { constructor: ObjectDamaged, key: part.key }, JSON.stringify(blocks));
  }
});

/** What each answers, in short. */
const MADE = [
  { of: 'a page', path: 'results?limit=2', told: '{"n":0,"t":"text 0"},{"n":1,"t":"text 919"}' },
  { of: 'a view', path: 'results?sort_by=n+desc&limit=1', told: '{"n":8999,"t":"text 81"}' },
  { of: 'statistics', path: 'statistics?columns=n', told: '"min":0,"max":8999,"mean":4499.5,' },
  { of: 'a difference', path: 'diff/OTHER', told: '"added":0,"removed":0,"changed":0,"unchanged":9000' },
  { of: 'a Parquet answer', path: 'results?format=parquet&columns=n', told: 'PAR1' },
] as const;

for (const { of, path, told } of MADE) {
  test(`a part that is written into while ${of} is made of it is told as damaged, and nothing of it is kept`, async (t) => {
    const stored = await publish(t, { QRS_DIRECT_ROWS: '0', QRS_ROW_FILES: 'off', QRS_INDEX_USES: 'off' });
    const { service, id, resultSet } = stored;
    const lines = Array.from({ length: ROWS }, (_, n) => `${n},text ${(n * 7919) % 1000}`);
    const other = path.startsWith('diff') ? await service.publish(7, `n,t\n${lines.join('\n')}\n`, LAYOUT) : undefined;
    const [part] = resultSet.parts;
    assert(part !== undefined);
    const { open: openIntact } = LocalResultStore.prototype;
    let isHit = false;
    t.mock.method(
      LocalResultStore.prototype,
      'open',
      async function (this: LocalResultStore, ...asked: Parameters<typeof openIntact>) {
        const opened = await openIntact.apply(this, asked);
        if (asked[0].key === part.key && !isHit) {
          isHit = true;
          await flip(stored, part, 4000);
        }
        return opened;
      },
    );
    const ask = async () => await service.get(`/v1/execution/${id}/${path.replace('OTHER', other?.id ?? '')}`);
    const damaged = await ask();
    assert.deepEqual([damaged.status, damaged.headers.get('x-error-code')], [500, 'result_damaged']);
    await flip(stored, part, 4000);
    const again = await ask();
    assert.equal(again.status, 200);
    const text = await again.text();
    assert.ok(text.includes(told), text.slice(0, 2000));
  });
}
