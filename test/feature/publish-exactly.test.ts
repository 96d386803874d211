/** Contract §13: what a type cannot hold exactly is refused when it is published, naming row, column and type, in every format alike. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { makeCommandLine } from './command.ts';

/** The second row's value, a value that fits for the first, and the type. */
const UNFIT: readonly (readonly [value: string, fits: string, type: string])[] = [
  ['-5', '5', 'uint256'],
  ['115792089237316195423570985008687907853269984665640564039457584007913129639936', '1', 'uint256'],
  ['12.3456', '12.345', 'decimal(10, 3)'],
  ['12345678.5', '1.5', 'decimal(10, 3)'],
  ['12345678901234567.891e0', '1234567890123456789e-2', 'decimal(38, 2)'],
  ['9223372036854775808', '9223372036854775807', 'bigint'],
  ['1.5', '1', 'bigint'],
  ['128', '127', 'tinyint'],
  ['1e400', '1e300', 'double'],
  ['maybe', 'true', 'boolean'],
  ['0x123', '0x1234', 'varbinary'],
  ['2024-02-30', '2024-02-29', 'date'],
  ['2024-03-05 20:50:59.1234', '2024-03-05 20:50:59.123', 'timestamp(3)'],
  ['2024-03-05 20:50:59.1234567', '2024-03-05 20:50:59.123456', 'timestamp(6)'],
  ['1 day 00:00:01.2345678', '1 day 00:00:01.2345670', 'interval'],
  // What follows a time of day.
  ['12:00:00 1 day', '1 day 12:00:00', 'interval'],
  ['1 day 12:00:00 ago', '-1 day -12:00:00', 'interval'],
  ['12:00:00+02', '12:00:00.5', 'interval'],
];

const FORMATS = ['csv', 'ndjson', 'parquet'] as const;

/** A command line with query 7, and a DuckDB that writes files for it. */
async function queryToPublishTo(t: TestContext) {
  const qrs = await makeCommandLine(t);
  await qrs.get('users', 'add', 'ann');
  await qrs.get('queries', 'add', '--id', '7', '--user', 'ann');
  const duckDb = await (await DuckDBInstance.create(':memory:')).connect();
  t.after(() => duckDb.closeSync());
  return { qrs, duckDb };
}

/** The second row's value, as each format holds it, and the type that it is declared to be. */
const ROUNDED: readonly (readonly [value: string, type: string, parquet: string])[] = [
  ['9007199254740993', 'double', 'BIGINT'],
  ['-18446744073709551615', 'double', 'DECIMAL(38, 0)'],
  ['16777217', 'real', 'INTEGER'],
];

test('a whole number that a declared double would round is refused in each format; one that it holds, and fractions, are not', async (t) => {
  const { qrs, duckDb } = await queryToPublishTo(t);
  const publish = async (
    format: (typeof FORMATS)[number],
    type: string,
    values: readonly string[],
    parquet: string,
  ) => {
    const path = join(qrs.directory, `whole.${format}`);
    if (format === 'csv') await writeFile(path, `v\n${values.join('\n')}\n`);
    else if (format === 'ndjson') await writeFile(path, values.map((v) => `{"v":${v}}\n`).join(''));
    else await duckDb.run(`COPY (SELECT unnest([${values.map((v) => `${v}::${parquet}`).join()}]) AS v) TO '${path}'`);
    return await qrs.run(['publish', path, '--query', '7', '--types', `v=${type}`]);
  };
  for (const format of FORMATS) {
    for (const [value, type, parquet] of ROUNDED) {
      const { code, err } = await publish(format, type, ['1', value], parquet);
      const says = `error: row 2, column "v": "${value}" cannot be stored as ${type}, which would round it: declare bigint, decimal or varchar`;
      assert.deepEqual([code, err.trimEnd().split('\n').at(-1)], [1, says], `${type} in ${format}`);
    }
    const held = ['9007199254740992', '1152921504606846976', '10000000000000000000000'];
    assert.equal(
      (await publish(format, 'double', held, 'DECIMAL(38, 0)')).code,
      0,
      `2^53, 2^60 and 10^22 in ${format}`,
    );
    assert.equal((await publish(format, 'double', ['0.1'], 'DECIMAL(38, 3)')).code, 0, `a fraction in ${format}`);
  }
});

test('a value that does not fit is refused in each format, with row, column and type, and nothing has changed', async (t) => {
  const { qrs, duckDb } = await queryToPublishTo(t);
  const publish = async (format: (typeof FORMATS)[number], type: string, values: readonly string[]) => {
    const path = join(qrs.directory, `values.${format}`);
    const rows = values.map((v) => `('${v}')`).join();
    if (format === 'csv') await writeFile(path, `v\n${values.join('\n')}\n`);
    else if (format === 'ndjson') await writeFile(path, values.map((v) => `${JSON.stringify({ v })}\n`).join(''));
    else await duckDb.run(`COPY (FROM (VALUES ${rows}) AS t(v)) TO '${path}'`);
    return await qrs.run(['publish', path, '--query', '7', '--types', `v=${type}`]);
  };
  for (const [value, fits, type] of UNFIT) {
    for (const format of FORMATS) {
      const told = `${value} as ${type} in ${format}`;
      const before = await qrs.get('executions', 'list', '--query', '7');
      const { code, out, err } = await publish(format, type, [fits, value]);
      assert.deepEqual([code, out], [1, ''], told);
      const last = err.trimEnd().split('\n').at(-1);
      // NDJSON says of a value how it stands in the file.
      const shown = format === 'ndjson' ? `"\\"${value}\\""` : `"${value}"`;
      assert.equal(last, `error: row 2, column "v": ${shown} cannot be stored as ${type}`, told);
      assert.equal(await qrs.get('executions', 'list', '--query', '7'), before, told);
    }
  }
  for (const [, fits, type] of UNFIT)
    assert.equal((await publish('ndjson', type, [fits])).code, 0, `${fits} as ${type}`);
});
