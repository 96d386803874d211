/**
 * There is one zero (decision 12): −0.0 is stored and written as 0.0, whatever file it comes from and however deep it is
 * nested.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { ColumnType } from '../../src/domain/column-type.ts';
import { rowsText } from './exact-json.ts';
import { startHttpService } from './http-service.ts';
import type { Cell } from './naive-interpreter.ts';
import { readParquet } from './parquet-reader.ts';
import { Workplace } from './publishing.ts';
import { StoredResults } from './stored-result.ts';

let place: Workplace;
before(async () => {
  place = await Workplace.open();
});
after(() => place[Symbol.asyncDispose]());

const NESTED = 'row(a array(double), m map(double, real))';
const NESTED_STORED = `{'f0': [0.0, -0.5], 'f1': {0.0=0.0}}`;

test('a published file keeps no sign of a zero, at any depth', async () => {
  const ndjson = '{"d":-0.0,"r":-0.0,"n":{"a":[-0.0,-0.5],"m":{"-0.0":-0.0}},"i":{"k":[-0.0]}}\n{"d":-1.5,"r":-1.5}\n';
  const types = { r: 'real', n: NESTED };
  for (const declared of [types, { ...types, d: 'double', i: 'row(k array(double))' }]) {
    const execution = await place.publish(await place.write('zero.ndjson', ndjson), { declared });
    assert.deepEqual(await place.rows(execution), [
      ['0.0', '0.0', NESTED_STORED, `{'f0': [0.0]}`],
      ['-1.5', '-1.5', null, null],
    ]);
  }
  const csv = await place.write('zero.csv', 'd,r,t\n-0.0,-0.0,-0.0\n-1.5,-1.5,-1.5\n');
  assert.deepEqual(await place.rows(await place.publish(csv, { declared: { r: 'real', t: 'varchar' } })), [
    ['0.0', '0.0', '-0.0'],
    ['-1.5', '-1.5', '-1.5'],
  ]);
  const parquet = join(place.folder, 'zero.parquet');
  const [zero, nested] = [`'-0.0'::DOUBLE`, `{'a': ['-0.0'::DOUBLE, -0.5], 'm': MAP {'-0.0'::DOUBLE: '-0.0'::FLOAT}}`];
  await place.query(`COPY (SELECT ${zero} AS d, '-0.0'::FLOAT AS r, ${nested} AS n) TO '${parquet}'`);
  assert.deepEqual(await place.rows(await place.publish(parquet)), [['0.0', '0.0', NESTED_STORED]]);
});

test('results that were stored with negative zeros are answered without them, in every format and order', async (t) => {
  const service = await startHttpService(t);
  await using stored = await StoredResults.of(service);
  const kinds: readonly ColumnType[] = [{ kind: 'double' }, { kind: 'real' }];
  const columns = [...kinds, ...kinds.map((element) => ({ kind: 'array', element }) as const)];
  const floats = [-0, 0.5].map((value): Cell => ({ kind: 'float', value }));
  const rows = floats.map((cell): Cell[] => [
    cell,
    cell,
    ...kinds.map((): Cell => ({ kind: 'list', elements: [cell] })),
  ]);
  const table = { columns: columns.map((type, i) => ({ name: `v${i}`, type })), rows };
  const { id } = await stored.put(table, 10, t.signal);
  const zeros = '{"v0":0.0,"v1":0.0,"v2":[0.0],"v3":[0.0]}';
  const halves = zeros.replaceAll('0.0', '0.5');
  const results = `/v1/execution/${id}/results`;
  for (const order of ['', '&sort_by=v0', '&filters=v1 = 0 or v1 = 0.5', '&sample_count=2&sort_by=v0']) {
    const answer = async (format: string) => await service.get(`${results}?format=${format}${order}`);
    assert.equal(await (await answer('ndjson')).text(), `${zeros}\n${halves}\n`);
    assert.equal(rowsText(await (await answer('json')).text()), `${zeros},${halves}`);
    assert.equal(await (await answer('csv')).text(), 'v0,v1,v2,v3\n0.0,0.0,"[0.0]","[0.0]"\n0.5,0.5,"[0.5]","[0.5]"\n');
    const bytes = new Uint8Array(await (await answer('parquet')).arrayBuffer());
    const { rows: texts } = await readParquet(bytes, 'v0::VARCHAR, v1::VARCHAR, v2::VARCHAR, v3::VARCHAR');
    assert.deepEqual(texts, [
      ['0.0', '0.0', '[0.0]', '[0.0]'],
      ['0.5', '0.5', '[0.5]', '[0.5]'],
    ]);
  }
});
