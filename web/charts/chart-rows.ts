/** Loads the rows of a chart: all if they are few; else a random sample or, with a filter or a search, the first rows. */
import type { Column } from '../api/answers.ts';
import type { Row } from '../table/row-pages.ts';
import { isNarrowed, loadCount, loadRows, loadSample, type View } from '../table/view.ts';

const ROWS_MAX = 8000;

export interface ChartRows {
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  /** Rows of the view. */
  readonly total: number;
  readonly isSample: boolean;
}

export async function loadChartRows(view: View, signal: AbortSignal): Promise<ChartRows> {
  const total = await loadCount(view, signal);
  const isSample = total > ROWS_MAX && !isNarrowed(view);
  const { columns, rows } = await (isSample ? loadSample(view, ROWS_MAX, signal) : loadRows(view, 0, ROWS_MAX, signal));
  return { columns, rows, total, isSample };
}
