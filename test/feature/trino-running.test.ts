/** A query while a real Trino runs it: how far it is, and that whoever ends it here ends it there. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { RunProgress } from '../../src/domain/run-progress.ts';
import { readParquetTexts } from '../contract/read-parquet-rows.ts';
import { sleep } from '../real-time.ts';
import { NO_TRINO, trinoEngine } from '../trino-tables.ts';

const NEVER = new AbortController().signal;
const ENDING_MILLIS = 30_000;

/** A million million rows, counted: it ends only when it is ended. */
const endless = (name: string) =>
  `SELECT count(*) AS ${name} FROM UNNEST(sequence(1, 10000)) AS a (x) CROSS JOIN UNNEST(sequence(1, 10000)) AS b (y) CROSS JOIN UNNEST(sequence(1, 10000)) AS c (z) WHERE x + y + z > 0`;

describe('a running query on Trino', { skip: NO_TRINO }, async () => {
  const root = await mkdtemp(join(tmpdir(), 'qrs-on-trino-'));
  const engine = trinoEngine(join(root, 'temp'));
  after(async () => {
    await engine[Symbol.asyncDispose]();
    await rm(root, { recursive: true, force: true });
  });
  let files = 0;
  const nextPath = () => join(root, `${++files}.parquet`);

  /** How Trino says that the query ended, once it has. */
  async function endOf(name: string): Promise<unknown> {
    const sql = `SELECT state, error_code FROM system.runtime.queries WHERE query LIKE '%AS ${name} FROM%' AND query NOT LIKE '%runtime%'`;
    for (let waited = 0; waited < ENDING_MILLIS; waited += 100) {
      const path = nextPath();
      await engine.materialize({ sql, sources: [] }, path, NEVER);
      const rows = await readParquetTexts(path);
      assert.equal(rows.length, 1);
      if (rows[0]?.[0] !== 'RUNNING') return rows[0];
      await sleep(100, NEVER);
    }
    return 'it still runs';
  }

  test('it says how far it is, and is cancelled there when it is here', async () => {
    const cancelling = new AbortController();
    const reason = new Error('cancelled by the test');
    const told: RunProgress[] = [];
    const running = engine.materialize(
      { sql: endless('cancelled_here'), sources: [] },
      nextPath(),
      cancelling.signal,
      (progress) => {
        told.push(progress);
        cancelling.abort(reason);
      },
    );
    await assert.rejects(running, reason);
    const [{ splits } = {}] = told;
    assert.ok(splits !== undefined && splits.total > 0 && splits.completed <= splits.total, JSON.stringify(told));
    assert.deepEqual(await endOf('cancelled_here'), ['FAILED', 'USER_CANCELED']);
  });

  test('it is ended there when it is over its time limit here', async () => {
    await using hasty = trinoEngine(join(root, 'temp'), 2000);
    await assert.rejects(hasty.materialize({ sql: endless('over_time'), sources: [] }, nextPath(), NEVER), {
      type: 'time_limit',
      message: /^the query took longer than its limit of 2000 ms/,
    });
    const [state, code] = (await endOf('over_time')) as readonly string[];
    assert.equal(state, 'FAILED');
    // Whoever noticed first.
    assert.match(code ?? '', /^(?:USER_CANCELED|EXCEEDED_TIME_LIMIT)$/);
  });
});
