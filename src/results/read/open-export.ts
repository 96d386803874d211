/**
 * Opens the rows of a Parquet answer, as `read.ts` opens those of a text: which they are, and whether more follow, is known
 * before they are written. They always come from parts, stored ones or those of a view that is materialised first, because a
 * file is made from rows in order; making one is heavy work whatever its size.
 */
import type { ResultSet } from '../../domain/result-set.ts';
import { fieldProblem, nameProblem } from '../../duckdb/parquet-value.ts';
import { RequestError } from '../../errors/errors.ts';
import type { ProjectedColumn } from '../compile/range.ts';
import type { ReadPlan } from '../plan/read-plan.ts';
import { askedFor, openDerived, openSlice, type PageOfRows, projectColumns, type ReadDeps } from './page.ts';
import type { ExportedRows } from './parquet-exports.ts';
import { PartReader } from './part-reader.ts';

export interface ExportPage {
  readonly page: Omit<PageOfRows, 'chunks'>;
  readonly rows: ExportedRows;
}

/** @throws RequestError unsupported_column · datapoint_limit · rate_limited · overloaded · read_timeout · result_damaged */
export async function openExport(
  executionId: string,
  plan: ReadPlan,
  resultSet: ResultSet,
  keyId: string,
  deps: ReadDeps,
  signal: AbortSignal,
): Promise<ExportPage> {
  const columns = projectColumns(plan, resultSet);
  requireNames(columns);
  const { slice, drawn, view } = askedFor(plan, resultSet, deps.random);
  using held = new DisposableStack();
  held.use(await deps.limiter.acquire(keyId, signal));
  // Of no rows no view can be made, and none is needed.
  const isView = view !== undefined && drawn.parts.length > 0;
  const made = isView ? held.use(await deps.views.get(executionId, drawn, view, keyId, signal)).resultSet : undefined;
  const { parts } = made ?? drawn;
  const open: ExportedRows['open'] =
    made === undefined ? (...asked) => deps.store.open(...asked) : async ({ key }) => openDerived(key);
  // How many rows fit has nothing to do with the format.
  const reader = new PartReader(columns, 'json', { ...deps, keyId, open });
  const opened = await openSlice(plan, slice, columns, made ?? drawn, reader, signal);
  const from = Math.min(opened.offset, (made ?? drawn).rowCount);
  const kept = held.move();
  return {
    page: {
      ...opened,
      filteredRowCount: plan.selection.kind === 'slice' ? made?.rowCount : undefined,
      small: false,
      release: () => kept.dispose(),
    },
    rows: { keyId, columns, parts, open, from, to: from + opened.rowCount },
  };
}

function requireNames(columns: readonly ProjectedColumn[]): void {
  const names = nameProblem(columns.map(({ name }) => name));
  if (names !== undefined) throw refusal(names);
  for (const { name, type } of columns) {
    const problem = fieldProblem(type);
    if (problem !== undefined) throw refusal(`${problem}, within the column ${JSON.stringify(name)}`);
  }
}

function refusal(problem: string): RequestError {
  return new RequestError(
    'unsupported_column',
    `Parquet ${problem}; leave such a column out with columns=…, or ask for another format`,
  );
}
