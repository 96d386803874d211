/** Values through a real Trino: parameters come back as they were typed, whatever they hold, and so does every digit of every type. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import fc from 'fast-check';
import { formatColumnType } from '../../src/domain/column-type.ts';
import type { ParameterValue } from '../../src/domain/parameter-values.ts';
import { readParquetTexts } from '../contract/read-parquet-rows.ts';
import { NO_TRINO, trinoEngine } from '../trino-tables.ts';

const CASES = Number(process.env.TEST_CASES ?? 60);
const SEED = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));

describe('values on Trino', { skip: NO_TRINO }, async () => {
  const root = await mkdtemp(join(tmpdir(), 'qrs-on-trino-'));
  const engine = trinoEngine(join(root, 'temp'));
  after(async () => {
    await engine[Symbol.asyncDispose]();
    await rm(root, { recursive: true, force: true });
  });
  let runs = 0;

  async function run(sql: string, parameters: readonly ParameterValue[] = []) {
    const path = join(root, `${++runs}.parquet`);
    const made = await engine.materialize({ sql, parameters, sources: [] }, path, new AbortController().signal);
    const types = made.columns.map(({ type }) => formatColumnType(type));
    return { types, rows: await readParquetTexts(path) };
  }

  const hostile = fc
    .array(
      fc.oneof(
        fc.constantFrom(
          "'",
          "''",
          '"',
          '--',
          '/*',
          '*/',
          ';',
          '\\',
          '$$',
          '?',
          '{{a}}',
          ')',
          "x'",
          '%',
          '\n',
          '😀',
          '\u2028',
        ),
        fc.string({ unit: 'grapheme', maxLength: 4 }),
      ),
      { maxLength: 6 },
    )
    .map((pieces) => pieces.join('').replaceAll('\0', ''));

  test(`texts come back as they were typed (${CASES} cases)`, async (t) => {
    t.diagnostic(`seed ${SEED}`);
    await fc.assert(
      fc.asyncProperty(hostile, hostile, async (a, b) => {
        const parameters = [
          { key: 'a', type: 'text', value: a },
          { key: 'b', type: 'text', value: b },
        ] as const;
        const sql = "SELECT /* {{b}} */ {{a}} AS a, {{b}} AS b, '<it''s {{a}}>' AS joined, 1 AS one -- '{{a}}";
        assert.deepEqual((await run(sql, parameters)).rows, [[a, b, `<it's ${a}>`, '1']]);
      }),
      { numRuns: CASES, seed: SEED },
    );
  });

  for (const [type, value, expected] of [
    ['number', '9223372036854775807', ['bigint', '9223372036854775807']],
    ['number', '-9223372036854775807', ['bigint', '-9223372036854775807']],
    ['number', '9223372036854775808', ['decimal(19, 0)', '9223372036854775808']],
    [
      'number',
      '12345678901234567890.123456789012345678',
      ['decimal(38, 18)', '12345678901234567890.123456789012345678'],
    ],
    ['number', '1.5e3', ['double', '1500.0']],
    ['datetime', '2024-03-05 20:50:59.123456', ['timestamp(6)', '2024-03-05 20:50:59.123456']],
    ['datetime', '2024-03-05 20:50:59+05:30', ['timestamp(3) with time zone', '2024-03-05 15:20:59+00']],
  ] as const) {
    test(`the ${type} ${value} is ${expected.join(' ')}`, async () => {
      const { types, rows } = await run('SELECT {{a}} AS a', [{ key: 'a', type, value }]);
      assert.deepEqual([types[0], rows[0]?.[0]], expected);
    });
  }

  test(`numbers of every type come back with every digit (${CASES} cases)`, async (t) => {
    t.diagnostic(`seed ${SEED}`);
    const whole = fc.bigInt({ min: -(10n ** 38n) + 1n, max: 10n ** 38n - 1n });
    const double = fc.double({ noNaN: true, noDefaultInfinity: true });
    await fc.assert(
      fc.asyncProperty(
        whole,
        double,
        fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
        async (wide, number, big) => {
          const sql = `SELECT CAST('${wide}' AS decimal(38, 0)) AS wide, CAST('${number}' AS double) AS number, CAST('${big}' AS bigint) AS big, ARRAY[CAST('${big}' AS bigint)] AS list`;
          const [[gotWide, gotNumber, gotBig, list] = []] = (await run(sql)).rows;
          assert.deepEqual(
            [gotWide, Number(gotNumber), gotBig, list],
            [`${wide}`, number === 0 ? 0 : number, `${big}`, `[${big}]`],
          );
        },
      ),
      { numRuns: CASES, seed: SEED },
    );
  });

  test('a row pattern may have what needs not be there (?), beside parameters', async () => {
    const sql =
      'SELECT m.first, m.last FROM (VALUES (1, 10), (2, 8), (3, 12), (4, 12)) t (id, v) MATCH_RECOGNIZE (ORDER BY id MEASURES A.v AS first, B.v AS last AFTER MATCH SKIP PAST LAST ROW PATTERN (A B?) DEFINE B AS v < {{max}}) m';
    const { rows } = await run(sql, [{ key: 'max', type: 'number', value: '10' }]);
    assert.deepEqual(rows, [
      ['10', '8'],
      ['12', null],
      ['12', null],
    ]);
  });

  test('rows keep the order of the query, through many answers', async () => {
    const { rows } = await run(
      "SELECT a * 1000 + b AS n, rpad('x', 100, 'y') AS filling FROM UNNEST(sequence(0, 199)) AS t (a) CROSS JOIN UNNEST(sequence(0, 999)) AS u (b) ORDER BY n DESC",
    );
    assert.equal(rows.length, 200_000);
    assert.ok(rows.every(([n], i) => n === String(199_999 - i)));
  });
});
