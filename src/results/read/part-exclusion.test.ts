/** How parts are looked at. Which are left out, and that none is left out wrongly, is tested over HTTP and in part-exclusion.property.test.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_EXPRESSION_LIMITS } from '../../../test/expression-text.ts';
import { parseColumnType } from '../../domain/column-type.ts';
import type { ResultSet } from '../../domain/result-set.ts';
import { parseFilter } from '../../expression/parse-filter.ts';
import { bindFilter } from '../plan/bind-filter.ts';
import { PartExclusion } from './part-exclusion.ts';

const COLUMNS = [{ name: 'wallet', type: parseColumnType('varbinary') }];
const PARTS = 20;
const RESULT_SET: ResultSet = {
  columns: COLUMNS,
  rowCount: PARTS,
  cellBytes: PARTS,
  truncated: false,
  parts: Array.from({ length: PARTS }, (_, number) => ({
    key: `part-${number}`,
    firstRow: number,
    rowCount: 1,
    cellBytes: 1,
    rowBytesMax: 1,
    objectBytes: 1,
    sha256: '',
    bloomFilters: {
      key: `part-${number}.bloom`,
      objectBytes: 1,
      sha256: '',
      blocks: { rows: [1], bytes: [1, 0], hashes: '' },
      columns: [0],
      probe: 'the same hashes',
    },
  })),
};

test('Bloom filters of eight parts are fetched at once, and what is not there leaves its part in its place', async (t) => {
  let [open, openMax] = [0, 0];
  const full = Promise.withResolvers<void>();
  const exclusion = new PartExclusion({
    duckDb: { query: async () => [['the same hashes']], queryPlanned: async () => [[1]] },
    store: {
      open: async () => {
        open += 1;
        openMax = Math.max(openMax, open);
        if (open === 8) full.resolve();
        await full.promise;
        open -= 1;
        throw new Error('the store is away');
      },
    },
    onUnreadable: () => undefined,
  });
  const predicate = bindFilter(parseFilter('wallet = 0xab', DEFAULT_EXPRESSION_LIMITS), COLUMNS);
  const view = { rows: { kind: 'matching', predicate } as const, sortKeys: [] };
  const { resultSet, left } = await exclusion.exclude('01A', RESULT_SET, view, t.signal);
  assert.equal(openMax, 8);
  assert.deepEqual(left, { parts: PARTS, of: PARTS });
  assert.deepEqual(resultSet.parts, RESULT_SET.parts);
});
