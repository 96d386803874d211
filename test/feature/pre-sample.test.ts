/** The pre-sample: rows drawn when a result is published, from which samples are answered. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allRowsOf } from '../../src/domain/result-set.ts';
import { sweep } from '../../src/maintenance/sweep.ts';
import { verify } from '../../src/maintenance/verify.ts';
import { getEnvelope } from './http-client.ts';
import { startHttpService } from './http-service.ts';
import { NEVER, Workplace } from './publishing.ts';

const DAY_MILLIS = 24 * 60 * 60 * 1000;
const SMALL_PARTS = { rowGroupRows: 2048, rowGroupsPerPart: 1 };

function numbersTo(count: number): string {
  return `n\n${Array.from({ length: count }, (_, n) => `${n}\n`).join('')}`;
}

/** The numbers of the pre-sample's rows; undefined where there is none. */
async function preSampled(
  place: Workplace,
  rows: number,
  preSampleRows: number,
): Promise<readonly number[] | undefined> {
  const file = await place.write('numbers.csv', numbersTo(rows));
  const execution = await place.publish(file, {}, { ...SMALL_PARTS, preSampleRows });
  const { preSample } = await place.resultSet(execution);
  if (preSample === undefined) return undefined;
  await using object = await place.store.open(preSample, allRowsOf(preSample), NEVER);
  const drawn = await place.query(
    `SELECT c0 FROM read_parquet('${object.path}', file_row_number = true) ORDER BY file_row_number`,
  );
  assert.equal(preSample.rowCount, drawn.length);
  assert.equal(preSample.cellBytes, 8 * drawn.length);
  return drawn.map(([n]) => Number(n));
}

test('only a result with more rows than the pre-sample has one', async () => {
  await using place = await Workplace.open();
  assert.equal(await preSampled(place, 100, 100), undefined);
  assert.equal((await preSampled(place, 101, 100))?.length, 100);
});

test('it holds distinct rows of the result, from all of its parts, in stored order', async () => {
  await using place = await Workplace.open();
  const drawn = (await preSampled(place, 10_000, 500)) ?? [];
  assert.equal(drawn.length, 500);
  assert.ok(drawn.every((n, i) => n > (drawn[i - 1] ?? -1) && n < 10_000));
  assert.deepEqual(new Set(drawn.map((n) => Math.floor(n / 2048))), new Set([0, 1, 2, 3, 4]));
});

test('it is verified and swept with the rest', async () => {
  await using place = await Workplace.open();
  const file = await place.write('numbers.csv', numbersTo(300));
  const execution = await place.publish(file, {}, { preSampleRows: 100, retentionDays: 1 });
  const { preSample } = await place.resultSet(execution);
  assert.ok(preSample);
  await sweep(place.dependencies, 100, NEVER);
  const sound = await Array.fromAsync(verify(place.dependencies, NEVER));
  assert.deepEqual(
    sound.map(({ key, problem }) => [key.split('/').at(-1), problem]),
    [
      ['part-00000.parquet', undefined],
      ['pre-sample.parquet', undefined],
    ],
  );
  await place.spoil(preSample.key);
  const damaged = await Array.fromAsync(verify(place.dependencies, NEVER));
  assert.deepEqual(
    damaged.filter(({ problem }) => problem !== undefined).map(({ key }) => key),
    [preSample.key],
  );
  const trust = { shareMax: 0.1, confirmed: true };
  await sweep({ ...place.dependencies, clock: () => Date.now() + 2 * DAY_MILLIS, trust }, 100, NEVER);
  assert.deepEqual(await Array.fromAsync(place.store.list('')), []);
});

test('samples over HTTP come from it while it has twice as many rows, each without repeats and in stored order', async (t) => {
  const service = await startHttpService(t);
  await service.publish(7, numbersTo(5000), { ...SMALL_PARTS, preSampleRows: 50 });
  const draw = async (count: number) => {
    const { rows } = (await getEnvelope(service, `/v1/query/7/results?sample_count=${count}`)).result;
    const drawn = rows.map(({ n }) => Number(n));
    assert.equal(drawn.length, count);
    assert.ok(drawn.every((n, i) => n > (drawn[i - 1] ?? -1) && n < 5000));
    return drawn;
  };
  const kept = new Set<number>();
  for (let i = 0; i < 40; i += 1) for (const n of await draw(25)) kept.add(n);
  assert.equal(kept.size, 50);
  assert.ok(!(await draw(26)).every((n) => kept.has(n)));
  // As many as there are in it would be the same rows each time.
  assert.notDeepEqual(await draw(50), await draw(50));
});

test('over many publications every row is in it equally often', async () => {
  await using place = await Workplace.open();
  const publications = 40;
  // 300 rows in 30 groups of neighbours; each publication draws 30 rows.
  const groups = new Array<number>(30).fill(0);
  for (let i = 0; i < publications; i += 1) {
    for (const n of (await preSampled(place, 300, 30)) ?? [])
      groups[Math.floor(n / 10)] = (groups[Math.floor(n / 10)] ?? 0) + 1;
  }
  const chiSquare = groups.reduce((sum, count) => sum + (count - publications) ** 2 / publications, 0);
  // Drawn without replacement, the counts vary less than χ² with 29 degrees of freedom, which exceeds 86 once in five million
  // times.
  assert.ok(chiSquare < 86, JSON.stringify(groups));
});
