/** The dataset whose refreshes are killed (kill-runs.test.ts): a tick each minute, enough rows for several parts. */
import { columnsOf, type Dataset } from '../../src/datasets/dataset.ts';

export const ROWS = 60_000;

export const KILLED_DATASET: Dataset = {
  name: 'killed',
  title: 'Killed while it is refreshed',
  path: '/v1/test/killed',
  queryId: 990_000_101,
  schedule: '* * * * *',
  columns: columnsOf({ id: 'bigint', name: 'varchar', as_of: 'varchar' }),
  meanings: {},
  sources: [],
  sqlFile: new URL('file:///none.sql'),
  fragments: {},
  sql: `SELECT range AS id, md5(range::VARCHAR) AS name, {{as_of}}::VARCHAR AS as_of FROM range(${ROWS}) ORDER BY name`,
};
