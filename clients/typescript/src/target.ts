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

export function pathOf(target: Target): string {
  if ('query' in target) return `/v1/query/${target.query}/results`;
  if ('execution' in target) return `/v1/execution/${encodeURIComponent(target.execution)}/results`;
  return `/v1/${target.dataset
    .replace(/^\/*(v1\/)?/, '')
    .split('/')
    .map(encodeURIComponent)
    .join('/')}`;
}

/** Within quotes a backslash escapes a quote and itself. */
function columnText(name: string): string {
  return /^[^\s",]([^",]*[^\s",])?$/.test(name) ? name : `"${name.replaceAll(/["\\]/g, '\\$&')}"`;
}

/** @param more further parameters @throws TypeError for a text that cannot be sent */
export function addressOf(target: Target, filter: Filter, more: Readonly<Record<string, string>>): string {
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
