import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { sleep } from '../../../test/real-time.ts';
import type { DuckDb } from '../../duckdb/duckdb.ts';
import type { Statement } from '../../duckdb/statement.ts';
import type { Source } from '../sources/source.ts';
import { UNLIMITED_STAGING } from '../staging-budget.ts';
import { writeParts } from './part-writer.ts';

const LAYOUT = { rowGroupRows: 1, rowGroupsPerPart: 1, preSampleRows: 1, bloomBytesMin: 1e9, resultBytesMax: 1e9 };
/** Longer than the writer's pause between two looks. */
const LOOKED_AGAIN_MILLIS = 300;

test('a part is measured once it is finished; the one before the last may still be unfinished', async (t) => {
  const parent = await mkdtemp(join(tmpdir(), 'qrs-parts-'));
  t.after(async () => await rm(parent, { recursive: true, force: true }));
  const folder = join(parent, 'parts');
  const finished = new Set<string>();
  const begin = async (index: number) => await writeFile(join(folder, `part-${index}.parquet`), 'rows');
  const finish = (index: number) => finished.add(join(folder, `part-${index}.parquet`));
  // As DuckDB does with one thread: the next file appears before the one before has its footer.
  const copy = async () => {
    await mkdir(folder);
    for (const index of [0, 1, 2]) {
      await begin(index);
      await delay(LOOKED_AGAIN_MILLIS);
      if (index > 0) finish(index - 1);
    }
    finish(2);
    return [];
  };
  const query = async ({ text, values }: Statement) => {
    if (text.startsWith('EXPLAIN')) return [['physical_plan', '[{"name": "COPY_TO_FILE", "children": []}]']];
    if (text.includes('COPY')) return await copy();
    assert(finished.has(String(values[0])), `${values[0]} was read before it was finished`);
    // One row group, which takes all four bytes of the file; of fewer rows nobody would ask.
    return text.includes('parquet_metadata') ? [[2049, 0, 4]] : [[2049, 8, 8]];
  };
  const source = { columns: [], relation: 't', path: 'none' } as unknown as Source;
  const never = new AbortController().signal;
  const { parts } = await writeParts(
    { query } as unknown as DuckDb,
    source,
    { folder, layout: LAYOUT, sleep, staged: UNLIMITED_STAGING, onRows: () => undefined },
    never,
  );
  assert.equal(parts.length, 3);
});
