/**
 * Opens the rows of a Parquet answer, as `open-page.ts` does for text: which rows they are, and whether more follow, is known
 * before they are written. Parquet is always written from parts, because its rows must be in order: stored parts, or those of a
 * view, which is materialised first. Writing the file is heavy work, whatever its size.
 */

import type { QueryWords } from '../../domain/column-descriptions.ts';
import type { ResultSet } from '../../domain/result-set.ts';
import { fieldProblem, nameProblem } from '../../duckdb/parquet-value.ts';
import { RequestError } from '../../errors/errors.ts';
import type { ProjectedColumn } from '../compile/row-encoding.ts';
import type { ReadPlan } from '../plan/read-plan.ts';
import { openViewFor } from './narrow-view.ts';
import type { ReadDeps } from './open-page.ts';
import { openSlice } from './open-slice.ts';
import type { PageOfRows, ReadRequest } from './page.ts';
import type { ExportedRows } from './parquet-exports.ts';
import { PartReader } from './part-reader.ts';
import { projectColumns, rowSourceOf } from './row-source.ts';
import { depsFor } from './wide-reads.ts';

export interface ExportRequest extends ReadRequest {
  /** What the file says of its query. */
  readonly words: QueryWords | undefined;
}

export interface ExportPage {
  readonly page: Omit<PageOfRows, 'chunks'>;
  readonly rows: ExportedRows;
}

/** @throws RequestError unsupported_column · datapoint_limit · rate_limited · overloaded · read_timeout · result_damaged */
export async function openExport(request: ExportRequest, deps: ReadDeps, signal: AbortSignal): Promise<ExportPage> {
  const { plan, resultSet, keyId, words } = request;
  const columns = projectColumns(plan, resultSet);
  requireNames(columns);
  const { slice, resultSet: stored, view } = rowSourceOf(plan, resultSet, deps.random);
  const executionId = request.rowsOf ?? request.executionId;
  using held = new DisposableStack();
  held.use(await deps.limiter.acquire(keyId, signal));
  const source =
    view === undefined ? stored : (await deps.exclusion.exclude(executionId, stored, view, signal)).resultSet;
  // A result without parts needs no view, and could have none.
  const isView = view !== undefined && source.parts.length > 0;
  const of = { executionId, resultSet: source, keyId };
  const ofView = isView ? held.use((await openViewFor(of, view, columns, deps.views, signal)).open) : undefined;
  const made = ofView?.resultSet;
  const { parts } = made ?? source;
  const open: ExportedRows['open'] = ofView?.openPart ?? ((...asked) => deps.store.open(...asked));
  // The number of rows that fit is the same for every format.
  const reader = new PartReader(
    { columns, format: 'json' },
    depsFor(columns.length, { ...deps, keyId, open, prefetch: undefined, rows: undefined }),
  );
  const opened = await openSlice({ plan, slice, columns, resultSet: made ?? source }, reader, signal);
  const from = Math.min(opened.offset, (made ?? source).rowCount);
  const kept = held.move();
  return {
    page: {
      ...opened,
      filteredRowCount: countOf(plan, source, made),
      small: false,
      release: () => kept.dispose(),
    },
    rows: { keyId, columns, words, parts, open, from, to: from + opened.rowCount },
  };
}

function countOf(plan: ReadPlan, source: ResultSet, made: ResultSet | undefined): number | undefined {
  if (plan.selection.kind !== 'slice') return undefined;
  // A view of no parts is not made, and has no rows.
  const isWhole = plan.selection.view === undefined && !plan.countsExactly;
  return made?.rowCount ?? (isWhole ? undefined : source.rowCount);
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
