/** The rows of a run: filters and count, the table, and the chosen cell. */
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { change, parameter } from '../address.ts';
import type { Column, QueryAnswer, RunStatus } from '../api/answers.ts';
import { ApiError } from '../api/client.ts';
import { CellBar } from '../narrow/cell-bar.tsx';
import { NarrowBar } from '../narrow/narrow-bar.tsx';
import { Notice } from '../parts/notice.tsx';
import type { Cell } from '../table/cells.ts';
import { RowPages } from '../table/row-pages.ts';
import { isNarrowed, loadCount, loadRows, type View } from '../table/view.ts';
import { VirtualTable } from '../table/virtual-table.tsx';

interface RowsProps {
  readonly run: RunStatus;
  readonly metadata: NonNullable<RunStatus['result_metadata']>;
  readonly query: QueryAnswer;
}

export function RowsTab({ run, metadata, query }: RowsProps) {
  const view: View = {
    executionId: run.execution_id,
    filters: parameter('filters'),
    search: parameter('search'),
    sortBy: parameter('sort_by'),
    columns: parameter('columns'),
    since: parameter('since'),
    key: parameter('key'),
  };
  const identity = JSON.stringify(view);
  const [columns, setColumns] = useState<readonly Column[]>([]);
  const [matching, setMatching] = useState<number>();
  const [error, setError] = useState<unknown>();
  const [cell, setCell] = useState<Cell>();
  const [changes, setChanges] = useState(0);
  const [attempt, setAttempt] = useState(0);

  const pages = useMemo(
    () =>
      new RowPages(
        async (offset, limit, signal) => {
          const page = await loadRows(view, offset, limit, signal);
          setColumns((before) => (sameColumns(before, page.columns) ? before : describedBy(query, page.columns)));
          return page;
        },
        () => setChanges((number) => number + 1),
        setError,
      ),
    [identity, attempt],
  );
  // Before the new view is seen: a count of the one before would be wrong, and a cell chosen meanwhile would be closed.
  useLayoutEffect(() => {
    const controller = new AbortController();
    setError(undefined);
    setCell(undefined);
    setMatching(undefined);
    const failed = (failure: unknown) => controller.signal.aborted || setError(failure);
    // Without a filter and a search, the count is known.
    if (isNarrowed(view)) loadCount(view, controller.signal).then(setMatching, failed);
    return () => {
      controller.abort();
      pages.close();
    };
  }, [identity, attempt]);

  const total = metadata.total_row_count;
  const rowCount = matching ?? (isNarrowed(view) ? undefined : total);
  // While an expression has a mistake, the rows of the last valid one stay.
  const isMistaken = isMistake(error);
  const now = { pages, rowCount: rowCount ?? total, sortBy: view.sortBy };
  const last = useRef(now);
  if (!isMistaken && pages.keptRows > 0) last.current = now;
  const shown = isMistaken ? last.current : now;
  return (
    <section class="rows" aria-label="Rows">
      <NarrowBar
        view={view}
        error={error}
        total={total}
        matching={rowCount}
        columns={columns}
        isTruncated={run.state === 'QUERY_STATE_COMPLETED_PARTIAL'}
      />
      {error !== undefined && !isMistaken ? (
        <Notice title="The rows could not be read" tone="bad">
          <p>{error instanceof ApiError ? error.message : 'The service cannot be reached.'}</p>
          <button type="button" onClick={() => setAttempt((before) => before + 1)}>
            Try again
          </button>
        </Notice>
      ) : isMistaken && columns.length === 0 ? null : shown.rowCount === 0 ? (
        <Empty total={total} />
      ) : (
        <VirtualTable {...shown} changes={changes} columns={columns} cell={cell} onCell={setCell} />
      )}
      {cell !== undefined && <CellBar cell={cell} onClose={() => setCell(undefined)} />}
    </section>
  );
}

/** An error in an expression; shown at its place. */
function isMistake(error: unknown): boolean {
  return error instanceof ApiError && /^(filter|sort)_/.test(error.code);
}

function sameColumns(some: readonly Column[], others: readonly Column[]): boolean {
  return some.length === others.length && some.every(({ name }, index) => name === others[index]?.name);
}

/** With what they mean, where that is known. */
function describedBy(query: QueryAnswer, columns: readonly Column[]): readonly Column[] {
  const descriptions = new Map(Object.entries(query.column_descriptions ?? {}));
  return columns.map(({ name, type }) => {
    const description = descriptions.get(name);
    return description === undefined ? { name, type } : { name, type, description };
  });
}

function Empty({ total }: { readonly total: number }) {
  if (total === 0)
    return (
      <Notice title="This result has no rows">
        <p>The run completed, and found nothing.</p>
      </Notice>
    );
  return (
    <Notice title="No row matches">
      <button type="button" onClick={() => change({ filters: '', search: '' })}>
        Show all rows
      </button>
    </Notice>
  );
}
