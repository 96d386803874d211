/** The SQL of the four curated datasets gives the same rows in the same order on both engines, to the last digit. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { asOfValue, loadDataset } from '../../src/datasets/dataset.ts';
import * as declared from '../../src/datasets/declared.ts';
import { writeDemoSources } from '../../src/datasets/demo-sources/write-demo-sources.ts';
import { formatColumnType } from '../../src/domain/column-type.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { readParquetTexts } from '../contract/read-parquet-rows.ts';
import { sleep } from '../real-time.ts';
import { createFromParquet, NO_TRINO, trinoEngine } from '../trino-tables.ts';
import { openEngine } from './dataset-fixture.ts';

const UNTIL = Date.parse('2026-11-01T00:00:00Z');

describe('datasets on Trino', { skip: NO_TRINO }, async () => {
  const signal = new AbortController().signal;
  const root = await mkdtemp(join(tmpdir(), 'qrs-on-trino-'));
  after(() => rm(root, { recursive: true, force: true }));
  const sourcesDirectory = join(root, 'sources');
  const datasets = await Promise.all(
    Object.values(declared).map((declare) => loadDataset(declare({ strategyColumnNames: 'number' }))),
  );

  before(async () => {
    await writeDemoSources(sourcesDirectory, { size: 'small', until: UNTIL, signal, sleep });
    const sources = new Map(datasets.flatMap((dataset) => dataset.sources.map((source) => [source.name, source])));
    for (const source of sources.values()) {
      await createFromParquet(source, join(sourcesDirectory, `${source.name.replace('.', '/')}.parquet`));
    }
  });

  for (const { name, sql, sources, columns } of datasets) {
    test(`${name} is the same`, async () => {
      const answer = async (engine: Engine, file: string) => {
        await using _ = engine;
        const path = join(root, `${name}-${file}.parquet`);
        const made = await engine.materialize({ sql, parameters: [asOfValue(UNTIL)], sources }, path, signal);
        return { columns: made.columns.map(print), rows: await readParquetTexts(path) };
      };
      const [here, there] = [
        await answer(openEngine(sourcesDirectory), 'duckdb'),
        await answer(trinoEngine(join(root, 'temp')), 'trino'),
      ];
      assert.deepEqual(there.columns, columns.map(print));
      assert.ok(here.rows.length > 10, `${here.rows.length} rows`);
      assert.deepEqual(there.rows, here.rows);
    });
  }
});

function print({
  name,
  type,
}: {
  readonly name: string;
  readonly type: Parameters<typeof formatColumnType>[0];
}): string {
  return `${name} ${formatColumnType(type)}`;
}
