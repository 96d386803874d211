/** Requests the rows of a view (run, filters, order, columns) and parses them without rounding numbers. */
import type { Column } from '../api/answers.ts';
import { request } from '../api/client.ts';
import { Digits, type ExactJson, type ExactObject, parseExact } from '../api/exact-json.ts';
import type { LoadedRows } from './row-pages.ts';

export interface View {
  readonly executionId: string;
  /** In the syntax of the API; '' for none. */
  readonly filters: string;
  readonly search: string;
  readonly sortBy: string;
  readonly columns: string;
}

/** The same each time, so that a page that is opened again shows the same rows. */
const SAMPLE_SEED = 1;

/** Whether it may have fewer rows than the result. */
export function isNarrowed({ filters, search }: Pick<View, 'filters' | 'search'>): boolean {
  return filters !== '' || search !== '';
}

export interface ViewPage extends LoadedRows {
  readonly columns: readonly Column[];
}

export async function loadRows(view: View, offset: number, limit: number, signal: AbortSignal): Promise<ViewPage> {
  return pageOf(await ask(view, { offset, limit }, signal));
}

/** A random sample. The view must have no filter. */
export async function loadSample(view: View, sampleCount: number, signal: AbortSignal): Promise<ViewPage> {
  return pageOf(await ask(view, { sample_count: sampleCount, sample_seed: SAMPLE_SEED }, signal));
}

function pageOf({ result, next_offset: next }: ExactObject): ViewPage {
  const { rows, metadata } = result as ExactObject;
  const { column_names, column_types } = metadata as ExactObject;
  const [names, types] = [column_names, column_types] as readonly (readonly string[])[];
  const columns = (names ?? []).map((name, index) => ({ name, type: types?.[index] ?? '' }));
  return {
    columns,
    rows: (rows as readonly ExactObject[]).map((row) => columns.map(({ name }) => row[name] ?? null)),
    nextOffset: next instanceof Digits ? Number(next.text) : undefined,
  };
}

/** Counts the rows of the view. That may read all rows, so it is a request of its own. */
export async function loadCount(view: View, signal: AbortSignal): Promise<number> {
  const { result } = await ask(view, { limit: 0, count: isNarrowed(view) ? 'exact' : undefined }, signal);
  const { total_row_count, filtered_row_count } = (result as ExactObject).metadata as ExactObject;
  return Number(String(filtered_row_count ?? total_row_count));
}

async function ask(
  { executionId, filters, search, sortBy, columns }: View,
  parameters: Readonly<Record<string, string | number | undefined>>,
  signal: AbortSignal,
): Promise<ExactObject> {
  const response = await request(`/v1/execution/${executionId}/results`, {
    parameters: {
      ...parameters,
      filters,
      search,
      sort_by: sortBy,
      columns,
      bigints: 'string',
      // The page tells the visitor that the result is truncated.
      allow_partial_results: 'true',
    },
    signal,
  });
  return parseExact(await response.text()) as ExactObject & { readonly [name: string]: ExactJson };
}
