/**
 * Publishing Parquet: random values of every type that DuckDB writes come back as the file holds them, and odd names unchanged.
 */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { LeaseLost } from '../../src/catalog/catalog.ts';
import { publish } from '../../src/publishing/publish.ts';
import { DUCKDB_TYPES as TYPES } from './duckdb-types.ts';
import { NEVER, OPTIONS, QUERY_ID, Workplace } from './publishing.ts';

let place: Workplace;
before(async () => {
  place = await Workplace.open();
});
after(() => place[Symbol.asyncDispose]());

test('a file of random values of every type comes back as it is', async () => {
  const cell = fc.option(fc.bigInt({ min: -(2n ** 63n) + 1n, max: 2n ** 63n - 1n }), { freq: 5 });
  await fc.assert(
    fc.asyncProperty(fc.array(cell, { minLength: 1, maxLength: 12 }), async (cells) => {
      const file = join(place.folder, 'every-type.parquet');
      const columns = TYPES.map(([type, , sqlOf], i) => {
        const values = cells.map((n) => (n === null ? 'NULL' : `CAST(${sqlOf(n)} AS ${type})`));
        return `unnest([${values.join(', ')}]::${type}[]) AS v${i}`;
      });
      await place.query(`COPY (SELECT ${columns.join(', ')}) TO '${file}' (FORMAT parquet)`);
      const execution = await place.publish(file);
      assert.deepEqual(
        await place.columns(execution),
        TYPES.map(([, type], i) => `v${i} ${type}`),
      );
      const texts = TYPES.map((_, i) => `v${i}::VARCHAR`).join(', ');
      assert.deepEqual(await place.rows(execution), await place.query(`SELECT ${texts} FROM '${file}'`));
    }),
    { numRuns: 12 },
  );
});

test('names that differ only in case, and names that DuckDB uses itself, stay unchanged', async () => {
  // DuckDB writes no such file, so the schema is renamed in place: names of equal length.
  const file = join(place.folder, 'case.parquet');
  await place.query(`COPY (SELECT 1 AS aa, 2 AS ab, 3 AS file_row_number, 4 AS filename) TO '${file}'`);
  const bytes = (await readFile(file)).toString('latin1').replaceAll('ab', 'AA');
  await writeFile(file, Buffer.from(bytes, 'latin1'));
  const execution = await place.publish(file);
  assert.deepEqual(await place.columns(execution), [
    'aa integer',
    'AA integer',
    'file_row_number integer',
    'filename integer',
  ]);
  assert.deepEqual(await place.rows(execution), [['1', '2', '3', '4']]);
});

test('a publish that loses its lease ends and leaves nothing behind', async () => {
  const file = await place.write('lost.csv', `n\n${'1\n'.repeat(20_000)}`);
  const objects = (await Array.fromAsync(place.store.list(''))).length;
  const revoke = async () => {
    for (const lease of await place.catalog.leases.list('write:')) await place.catalog.leases.revoke(lease);
  };
  let revoked: Promise<void> | undefined;
  const source = { kind: 'file', path: file } as const;
  const options = { ...OPTIONS, rowGroupRows: 2048, rowGroupsPerPart: 1 };
  await assert.rejects(
    publish(place.dependencies, { queryId: QUERY_ID, source }, options, NEVER, () => {
      revoked ??= revoke();
    }),
    LeaseLost,
  );
  await revoked;
  assert.equal((await Array.fromAsync(place.store.list(''))).length, objects);
  assert.deepEqual(await place.catalog.leases.list('write:'), []);
});
