/** Publishing Parquet: random values of every type that DuckDB writes come back as the file holds them, and odd names as they are. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { LeaseLost } from '../../src/catalog/catalog.ts';
import { publish } from '../../src/publishing/publish.ts';
import { NEVER, OPTIONS, QUERY_ID, Workplace } from './publishing.ts';

let place: Workplace;
before(async () => {
  place = await Workplace.open();
});
after(() => place[Symbol.asyncDispose]());

const instant = (n: bigint, unit: string) => `make_timestamp(${n % 4_000_000_000_000_000n})::${unit}`;

/** DuckDB type, the column type, and SQL for a value from any number of 64 bits. */
const TYPES: readonly (readonly [string, string, (n: bigint) => string])[] = [
  ['BOOLEAN', 'boolean', (n) => String(n % 2n === 0n)],
  ['TINYINT', 'tinyint', (n) => String(BigInt.asIntN(8, n))],
  ['SMALLINT', 'smallint', (n) => String(BigInt.asIntN(16, n))],
  ['INTEGER', 'integer', (n) => String(BigInt.asIntN(32, n))],
  ['BIGINT', 'bigint', (n) => String(n)],
  ['UTINYINT', 'smallint', (n) => String(BigInt.asUintN(8, n))],
  ['USMALLINT', 'integer', (n) => String(BigInt.asUintN(16, n))],
  ['UINTEGER', 'bigint', (n) => String(BigInt.asUintN(32, n))],
  ['UBIGINT', 'decimal(20, 0)', (n) => String(BigInt.asUintN(64, n))],
  ['DOUBLE', 'double', (n) => `${n}::DOUBLE / 3`],
  ['FLOAT', 'real', (n) => `${n}::FLOAT / 3`],
  ['DECIMAL(38, 6)', 'decimal(38, 6)', (n) => `'${n}12345.678901'`],
  ['VARCHAR', 'varchar', (n) => `'é,"' || ${n}`],
  ['BLOB', 'varbinary', (n) => `encode('é' || ${n})`],
  ['UUID', 'uuid', (n) => `md5('${n}')`],
  ['DATE', 'date', (n) => `DATE '1970-01-01' + ${n % 700_000n}::INTEGER`],
  ['TIME', 'time', (n) => `TIME '00:00:00' + to_microseconds(${BigInt.asUintN(36, n)})`],
  ['TIMETZ', 'time with time zone', (n) => `'1${BigInt.asUintN(3, n)}:02:03.000004+0${BigInt.asUintN(3, n)}'`],
  // Parquet has no seconds: DuckDB writes microseconds.
  ['TIMESTAMP_S', 'timestamp(6)', (n) => instant(n, 'TIMESTAMP_S')],
  ['TIMESTAMP_MS', 'timestamp(3)', (n) => instant(n, 'TIMESTAMP_MS')],
  ['TIMESTAMP', 'timestamp(6)', (n) => instant(n, 'TIMESTAMP')],
  ['TIMESTAMP_NS', 'timestamp(9)', (n) => `make_timestamp_ns(${n / 2n})`],
  ['TIMESTAMPTZ', 'timestamp(6) with time zone', (n) => instant(n, 'TIMESTAMPTZ')],
  [`ENUM('a', 'é', '')`, 'varchar', (n) => (n % 2n === 0n ? `'é'` : `''`)],
  // Parquet has no type for these three: DuckDB writes doubles and text.
  ['HUGEINT', 'double', (n) => `${n}::HUGEINT * 1000`],
  ['UHUGEINT', 'double', (n) => `${BigInt.asUintN(63, n)}::UHUGEINT * 1000`],
  ['BIT', 'varchar', (n) => `'${BigInt.asUintN(64, n).toString(2)}'`],
  ['BIGINT[]', 'array(bigint)', (n) => `[${n}, NULL]`],
  ['MAP(VARCHAR, DECIMAL(20, 2))', 'map(varchar, decimal(20, 2))', (n) => `MAP {'${n}': ${n % 1000n}.25}`],
];

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

test('names that differ only in case, and names that DuckDB uses itself, stay as they are', async () => {
  // DuckDB writes no such file, so its schema is renamed in place: names of one length.
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

test('a publish that loses its lease ends and leaves nothing', async () => {
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
