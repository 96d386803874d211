/** The SQL of an installation's own datasets, looked at by the engine before anything is served. */
import { fileURLToPath } from 'node:url';
import { type Engine, EngineError } from '../engine/engine.ts';
import { columnMismatch } from './check-columns.ts';
import { asOfValue, type Dataset } from './dataset.ts';
import { OWN_QUERY_IDS_FROM } from './dataset-folder.ts';

/** Columns are compared once all source tables are there. @throws Error naming file, line and column */
export async function checkOwnDatasets(datasets: readonly Dataset[], engine: Pick<Engine, 'check'>): Promise<void> {
  for (const dataset of datasets) {
    const { queryId, sql, sources, sqlFile } = dataset;
    if (queryId < OWN_QUERY_IDS_FROM) continue;
    const file = fileURLToPath(sqlFile);
    try {
      const found = await engine.check({ sql, parameters: [asOfValue(0)], sources }, new AbortController().signal);
      const mismatch = found && columnMismatch(dataset, found);
      if (mismatch !== undefined) throw new EngineError('column_mismatch', mismatch);
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      // An engine that cannot be asked now is no mistake in the SQL, and results are served without it.
      if (error.type === 'engine_error') continue;
      const { line, column, message } = error;
      const place = [line, column].filter((part) => part !== undefined).join(':');
      throw new Error(`${file}${place && `:${place}`}: ${message}`, { cause: error });
    }
  }
}
