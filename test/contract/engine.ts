/**
 * What every engine must do, whatever runs the SQL. `openEngine` makes an engine over source tables, given as a map from the path of each
 * table's file (`schema/table.csv`) to its text. It has a memory limit of 128 MB and the time limit that is asked for.
 */
import assert from 'node:assert/strict';
import { access, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { formatColumnType, parseColumnType } from '../../src/domain/column-type.ts';
import type { ParameterValue } from '../../src/domain/parameter-values.ts';
import { type Engine, EngineError, type SourceTable } from '../../src/engine/engine.ts';
import { readParquetRows } from './read-parquet-rows.ts';

export type OpenEngine = (
  files: Readonly<Record<string, string | Buffer>>,
  options: { readonly timeLimitMillis: number },
) => Promise<Engine>;

const EVENTS: SourceTable = {
  name: 'chain.events',
  columns: [
    { name: 'who', type: parseColumnType('varchar') },
    { name: 'shares', type: parseColumnType('uint256') },
    { name: 'seen_at', type: parseColumnType('timestamp(3) with time zone') },
  ],
};

const EVENTS_CSV = `seen_at,who,shares,unused
2024-03-05 20:50:59 UTC,ann,1000000000000000000001,x
2024-03-06 00:00:00 UTC,bob,2,x
2024-03-07 00:00:00 UTC,,3,x
`;

const never = new AbortController().signal;

export function engineContract(name: string, openEngine: OpenEngine): void {
  describe(`engine: ${name}`, async () => {
    const directory = await mkdtemp(join(tmpdir(), 'qrs-engine-'));
    after(() => rm(directory, { recursive: true, force: true }));
    let files = 0;
    const nextPath = () => join(directory, `${++files}.parquet`);

    async function materialize(
      sql: string,
      more: {
        files?: Record<string, string>;
        sources?: readonly SourceTable[];
        parameters?: readonly ParameterValue[];
        signal?: AbortSignal;
        limit?: number;
      } = {},
    ) {
      await using engine = await openEngine(more.files ?? { 'chain/events.csv': EVENTS_CSV }, {
        timeLimitMillis: more.limit ?? 60_000,
      });
      const path = nextPath();
      const query = { sql, sources: more.sources ?? [EVENTS], parameters: more.parameters ?? [] };
      const made = await engine.materialize(query, path, more.signal ?? never);
      const columns = made.columns.map((column) => `${column.name} ${formatColumnType(column.type)}`);
      return { columns, rowCount: made.rowCount, rows: await readParquetRows(path) };
    }

    async function failure(...args: Parameters<typeof materialize>): Promise<EngineError> {
      const error = await materialize(...args).then(
        () => assert.fail('the query was expected to fail'),
        (e: unknown) => e,
      );
      assert.ok(error instanceof EngineError, String(error));
      const left = join(directory, `${files}.parquet`);
      await assert.rejects(access(left), 'a failed query leaves no file');
      return error;
    }

    test('rows are written in the order of the query, with the types that it gives them', async () => {
      const made = await materialize(
        'SELECT who AS "Who", COUNT(*) AS n, CAST(1 AS DOUBLE) AS x, array_agg(who) AS list\nFROM chain.events GROUP BY who ORDER BY who DESC',
      );
      assert.deepEqual(made.columns, ['Who varchar', 'n bigint', 'x double', 'list array(varchar)']);
      assert.equal(made.rowCount, 3);
      assert.deepEqual(
        made.rows.map((row) => row[0]),
        ['bob', 'ann', null],
      );
    });

    test('a uint256 keeps all its digits', async () => {
      const made = await materialize(
        'SELECT CAST(SUM(CAST(shares AS DECIMAL(38, 0))) AS VARCHAR) AS total FROM chain.events',
      );
      assert.deepEqual(made.rows, [['1000000000000000000006']]);
    });

    test('a uint256 beyond 38 digits fails the query rather than lose digits', async () => {
      const csv = `seen_at,who,shares\n,ann,1${'0'.repeat(38)}\n`;
      const error = await failure('SELECT CAST(shares AS DECIMAL(38, 0)) AS n FROM chain.events', {
        files: { 'chain/events.csv': csv },
      });
      assert.equal(error.type, 'execution_error');
    });

    test('a query without rows leaves a file without rows', async () => {
      const made = await materialize("SELECT who FROM chain.events WHERE who = 'nobody'");
      assert.deepEqual([made.columns, made.rowCount, made.rows], [['who varchar'], 0, []]);
    });

    test('a syntax error says line and column', async () => {
      const error = await failure('SELECT who\nFROM chain.events\nWHERE who ? 1');
      assert.deepEqual([error.type, error.line, error.column], ['syntax_error', 3, 11]);
    });

    test('an unknown column says line and column, in a long line too', async () => {
      const long = `SELECT ${Array.from({ length: 40 }, (_, i) => `who AS who${i}`).join(', ')}, nothing\nFROM chain.events`;
      const error = await failure(long);
      assert.deepEqual([error.type, error.line, error.column], ['syntax_error', 1, long.indexOf('nothing') + 1]);
      assert.match(error.message, /nothing/);
    });

    test('any statement but a single SELECT is refused', async () => {
      assert.equal((await failure('DROP TABLE chain.events')).type, 'syntax_error');
    });

    test('a missing source table is named', async () => {
      const error = await failure('SELECT 1 FROM chain.events', { files: {} });
      assert.equal(error.type, 'missing_source');
      assert.match(error.message, /chain\.events/);
    });

    test('before a query is added its columns are told, or what is wrong with it, and missing tables are not', async () => {
      const check = async (sql: string, files: Record<string, string> = { 'chain/events.csv': EVENTS_CSV }) => {
        await using engine = await openEngine(files, { timeLimitMillis: 60_000 });
        const parameters = [{ key: 'n', type: 'number', value: '1' }] as const;
        return await engine.check({ sql, parameters, sources: [EVENTS] }, never);
      };
      assert.deepEqual(await check('SELECT who, {{n}} AS n FROM chain.events'), [
        { name: 'who', type: { kind: 'varchar' } },
        { name: 'n', type: { kind: 'bigint' } },
      ]);
      assert.equal(await check('SELECT who FROM chain.events', {}), undefined);
      await assert.rejects(check('SELECT nothing FROM chain.events'), { type: 'syntax_error', line: 1, column: 8 });
      await assert.rejects(check('SELECT who\nFROM chain.{{n}}'), { type: 'syntax_error', line: 2, column: 12 });
    });

    test('a value means the same wherever the SQL names it: in an expression that is grouped by, in a text, as a limit', async () => {
      const made = await materialize(
        "SELECT concat({{t}}, who) AS k, '<{{t}}>' AS t, COUNT(*) AS n FROM chain.events WHERE who <> {{t}} GROUP BY concat({{t}}, who) ORDER BY k LIMIT {{n}}",
        {
          parameters: [
            { key: 't', type: 'text', value: "it's {{n}} -- /*" },
            { key: 'n', type: 'number', value: '1' },
          ],
        },
      );
      assert.deepEqual(made.rows, [["it's {{n}} -- /*ann", "<it's {{n}} -- /*>", 1]]);
    });

    test('hasAny is true where at least one of the tables exists', async () => {
      const other: SourceTable = { ...EVENTS, name: 'chain.other' };
      const hasAny = async (files: Record<string, string>, sources: readonly SourceTable[]) => {
        await using engine = await openEngine(files, { timeLimitMillis: 60_000 });
        return await engine.hasAny(sources, never);
      };
      assert.equal(await hasAny({}, [EVENTS, other]), false);
      assert.equal(await hasAny({ 'chain/events.csv': EVENTS_CSV }, [other]), false);
      assert.equal(await hasAny({ 'chain/events.csv': EVENTS_CSV }, [other, EVENTS]), true);
      assert.equal(await hasAny({ 'chain/events.csv': 'no columns of ours\n' }, [EVENTS]), true);
    });

    test('a value that cannot be converted fails the query', async () => {
      const error = await failure('SELECT CAST(who AS BIGINT) AS n FROM chain.events');
      assert.equal(error.type, 'execution_error');
    });

    /** The three events crossed with themselves until there are 3^`power` rows. */
    const crossed = (power: number) =>
      `chain.events e0 ${Array.from({ length: power - 1 }, (_, i) => `CROSS JOIN chain.events e${i + 1}`).join(' ')}`;
    const runaway = `SELECT COUNT(DISTINCT concat(e0.who, e19.who)) AS n FROM ${crossed(20)}`;

    test('a query over its time limit is stopped, and the error says the limit', async () => {
      const error = await failure(runaway, { limit: 100 });
      assert.equal(error.type, 'time_limit');
      assert.match(error.message, /100 ms/);
    });

    test('a query over its memory limit is stopped', async () => {
      // 59,049 texts of 4,000 characters: 236 MB.
      const error = await failure(`SELECT array_agg(rpad(e0.who, 4000, 'x')) AS texts FROM ${crossed(10)}`);
      assert.equal(error.type, 'memory_limit');
    });

    test("an aborted query ends with the signal's reason", async () => {
      const controller = new AbortController();
      const reason = new Error('stopped by the test');
      const running = materialize(runaway, { signal: controller.signal });
      setImmediate(() => controller.abort(reason));
      await assert.rejects(running, reason);
    });
  });
}
