/** What to read, and which rows of it: becomes an address with parameters. */

/** Values of a query's parameters. */
export type Parameters = Readonly<Record<string, string | number | bigint | boolean>>;

/** The latest result of a query, the result of a run, or a curated dataset by its path. */
export type Target =
  | {
      readonly query: number;
      /** The latest run that had these. */
      readonly parameters?: Parameters;
      /** The run that was the latest at this time, of those whose results are still stored: `2024-03-05T20:50:59Z`, or a date. */
      readonly asOf?: string;
    }
  | { readonly execution: string }
  | { readonly dataset: string; readonly asOf?: string };

/** Which rows and columns, in which order; all of them as they are stored, when left out. */
export interface Filter {
  readonly columns?: readonly string[];
  /** `chain = 'base' and amount > 10`: see the service's reference of filters. */
  readonly filters?: string;
  /** Only rows in which a value contains this text, whatever the case. */
  readonly search?: string;
  /** `amount desc, chain`. */
  readonly sortBy?: string;
  /** The most rows, of all pages together. */
  readonly limit?: number;
  readonly offset?: number;
  /** So many rows at random. Only `columns` and `sortBy` go with it. */
  readonly sampleCount?: number;
  /** A result that was cut when it was stored is an error, unless this is true. */
  readonly allowPartialResults?: boolean;
}

/** What JavaScript may hand in: nobody has checked that it is one of them. */
interface AnyTarget {
  readonly query?: number;
  readonly execution?: string;
  readonly dataset?: string;
  readonly parameters?: Parameters;
  readonly asOf?: string;
}

const OPTIONS: Readonly<Record<keyof AnyTarget | keyof Filter | 'signal', true>> = {
  ...{ query: true, execution: true, dataset: true, parameters: true, asOf: true },
  ...{ columns: true, filters: true, search: true, sortBy: true, limit: true, offset: true, sampleCount: true },
  ...{ allowPartialResults: true, signal: true },
};

/** Left out, a misspelt one would have other rows read than were asked for. @throws TypeError for what is no option */
export function requireOptions(given: object): void {
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || Object.hasOwn(OPTIONS, name)) continue;
    throw new TypeError(`there is no option "${name}": there are ${Object.keys(OPTIONS).join(', ')}`);
  }
}

/** @throws TypeError unless it names one thing */
export function pathOf(target: Target): string {
  const { query, execution, dataset, parameters, asOf }: AnyTarget = target;
  if ([query, execution, dataset].filter((one) => one !== undefined).length !== 1) {
    throw new TypeError('name one of query, execution and dataset');
  }
  if (query === undefined && Object.keys(parameters ?? {}).length > 0) {
    throw new TypeError('parameters are for a query: they say which of its runs');
  }
  if (asOf !== undefined && execution !== undefined) {
    throw new TypeError('asOf is for a query or a dataset: it says which of its runs');
  }
  if (query !== undefined) return `/v1/query/${encodeURIComponent(query)}/results`;
  if (execution !== undefined) return `/v1/execution/${encodeURIComponent(execution)}/results`;
  return `/v1/${(dataset ?? '')
    .replace(/^\/*(v1\/)?/, '')
    .split('/')
    .map(encodeURIComponent)
    .join('/')}`;
}

/** Within quotes a backslash escapes a quote and itself. */
function columnText(name: string): string {
  return /^[^\s",]([^",]*[^\s",])?$/.test(name) ? name : `"${name.replaceAll(/["\\]/g, '\\$&')}"`;
}

/** @param more further parameters @throws TypeError for a text that cannot be sent, and for what says nothing, or two things */
export function addressOf(target: Target, filter: Filter, more: Readonly<Record<string, string>>): string {
  requireOptions(filter);
  if (typeof filter.columns === 'string') throw new TypeError('columns is a list of names, not one text');
  const named = 'query' in target ? Object.entries(target.parameters ?? {}) : [];
  const given: Readonly<Record<string, Parameters[string] | undefined>> = {
    columns: filter.columns?.map(columnText).join(','),
    filters: filter.filters,
    search: filter.search,
    sort_by: filter.sortBy,
    limit: filter.limit,
    offset: filter.offset,
    sample_count: filter.sampleCount,
    allow_partial_results: filter.allowPartialResults === true ? 'true' : undefined,
    as_of: 'asOf' in target ? target.asOf : undefined,
    ...more,
    ...Object.fromEntries(named.map(([name, value]) => [`params.${name}`, value])),
  };
  const sent = new URLSearchParams();
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const text = String(value);
    // It would be sent as U+FFFD, and so ask for something else.
    if (/\p{Surrogate}/u.test(`${name}=${text}`)) throw new TypeError(`${name} has half of a surrogate pair`);
    sent.set(name, text);
  }
  return `${pathOf(target)}?${sent}`;
}
