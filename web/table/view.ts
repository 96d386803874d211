/** Requests the rows of a view (run, filters, order, columns) and parses them without rounding numbers. */
import type { Column } from '../api/answers.ts';
import { ApiError, request } from '../api/client.ts';
import { Digits, type ExactObject, KEEPS_DIGITS, parseExact } from '../api/exact-json.ts';
import { rowsPath } from '../api/rows-path.ts';
import type { LoadedRows } from './row-pages.ts';

export interface View {
  readonly executionId: string;
  /** In the syntax of the API; '' for none. */
  readonly filters: string;
  readonly search: string;
  readonly sortBy: string;
  readonly columns: string;
  /** The run since which changes are shown, and the key to compare by; '' for the rows of the run itself. */
  readonly since?: string;
  readonly key?: string;
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

/** How much changed, whatever is filtered. */
export interface Difference {
  readonly rowCount: number;
  readonly added: number;
  readonly removed: number;
  readonly changed: number;
  readonly unchanged: number;
  /** Names of columns that were not compared. */
  readonly onlyFrom: readonly string[];
  readonly onlyTo: readonly string[];
}

export async function loadDifference(
  executionId: string,
  since: string,
  key: string,
  signal: AbortSignal,
): Promise<Difference> {
  const whole = { executionId, since, key, filters: '', search: '', sortBy: '', columns: '' };
  const { result } = await ask(whole, { limit: 0 }, signal);
  const { diff, total_row_count } = (result as ExactObject).metadata as ExactObject;
  const told = diff as ExactObject;
  const number = (name: string) => Number(String(told[name] ?? 0));
  const names = (name: string) => (told[name] ?? []) as readonly string[];
  return {
    rowCount: Number(String(total_row_count)),
    added: number('added'),
    removed: number('removed'),
    changed: number('changed'),
    unchanged: number('unchanged'),
    onlyFrom: names('columns_only_in_from'),
    onlyTo: names('columns_only_in_to'),
  };
}

async function ask(
  { executionId, filters, search, sortBy, columns, since = '', key = '' }: View,
  parameters: Readonly<Record<string, string | number | undefined>>,
  signal: AbortSignal,
): Promise<ExactObject> {
  const response = await request(rowsPath(executionId, since), {
    parameters: {
      ...parameters,
      filters,
      search,
      sort_by: sortBy,
      columns,
      key,
      bigints: KEEPS_DIGITS ? undefined : 'string',
      // The page tells the visitor that the result is truncated.
      allow_partial_results: 'true',
    },
    signal,
  });
  const answer = parseExact(await response.text()) as ExactObject;
  if (answer.result !== undefined) return answer;
  // It had one when the page was opened.
  throw new ApiError(response.status, 'no_result', 'The result of this run has expired since the page was opened.');
}
