import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Execution } from '../../domain/execution.ts';
import { fileHeaders } from './file-name.ts';

const execution: Execution = {
  id: '01HR864GXKRBB3WRAPTF11A40C',
  queryId: 7,
  parameters: {},
  state: 'COMPLETED',
  submittedAt: 0,
};
const ID = '01HR864GXKRBB3WRAPTF11A40C';

for (const [queryName, format, expected] of [
  [undefined, 'csv', `attachment; filename="query-7_${ID}.csv"`],
  [undefined, 'json', `inline; filename="query-7_${ID}.json"`],
  ['operator-stats', 'parquet', `attachment; filename="operator-stats_${ID}.parquet"`],
  ['Volumes, by day', 'ndjson', `attachment; filename="Volumes,_by_day_${ID}.ndjson"`],
  [
    'Größe täglich',
    'csv',
    `attachment; filename="Groe_taglich_${ID}.csv"; filename*=UTF-8''Gr%C3%B6%C3%9Fe_t%C3%A4glich_${ID}.csv`,
  ],
  ['売上', 'csv', `attachment; filename="query-7_${ID}.csv"; filename*=UTF-8''%E5%A3%B2%E4%B8%8A_${ID}.csv`],
  ['../../etc/passwd', 'csv', `attachment; filename="etc_passwd_${ID}.csv"`],
  ['a"; filename="x.exe', 'csv', `attachment; filename="a_filename=_x.exe_${ID}.csv"`],
  ['a\r\nSet-Cookie: b', 'csv', `attachment; filename="a_Set-Cookie_b_${ID}.csv"`],
  ['.hidden.', 'csv', `attachment; filename="hidden_${ID}.csv"`],
  ['w'.repeat(300), 'csv', `attachment; filename="${'w'.repeat(40)}_${ID}.csv"`],
  ['*** \ud800 ', 'csv', `attachment; filename="query-7_${ID}.csv"`],
] as const) {
  test(`${format} of ${JSON.stringify(queryName ?? 'no name').slice(0, 40)}`, () => {
    const named = queryName === undefined ? { execution } : { execution, queryName };
    const { 'content-disposition': found } = fileHeaders(named, format);
    assert.equal(found, expected);
  });
}
