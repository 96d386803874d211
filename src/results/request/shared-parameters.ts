/**
 * The table of the query parameters that every results endpoint shares (specification §4.9, and `format`): what each is called, what it may
 * hold, what it means. `results-request.ts` parses by it, and the API description and docs/reference/api.md are made from it.
 */

export type SharedParameter = BooleanParameter | ChoiceParameter | IntegerParameter | TextParameter;

interface Described {
  /** As it is sent. */
  readonly name: string;
  /** Markdown, one paragraph. */
  readonly about: string;
}

/** `true` or `false` in any case, `1` or `0`; absent is false. */
export interface BooleanParameter extends Described {
  readonly kind: 'boolean';
}

/** One of these words, in any case. */
export interface ChoiceParameter extends Described {
  readonly kind: 'choice';
  readonly choices: readonly string[];
  readonly example: string;
}

/** Decimal digits. */
export interface IntegerParameter extends Described {
  readonly kind: 'integer';
  readonly min: number;
  readonly example: number;
  /** Names of parameters that it cannot be sent with. */
  readonly excludes?: readonly string[];
}

export interface TextParameter extends Described {
  readonly kind: 'text';
  readonly example: string;
}

/** In the order in which a person would want to read about them. */
export const SHARED_PARAMETERS = {
  limit: {
    kind: 'integer',
    name: 'limit',
    min: 0,
    example: 100,
    about: 'The most rows to return. `0`: no rows, only the metadata.',
  },
  offset: {
    kind: 'integer',
    name: 'offset',
    min: 0,
    example: 0,
    about: 'The row to start from; the first is 0. Behind the last row: no rows, but the totals.',
  },
  columns: {
    kind: 'text',
    name: 'columns',
    example: 'wallet,amount',
    about:
      'The columns to return, in this order, separated by commas; a name may stand in double quotes, in which `""` is a quote and `\\\\` a backslash. Without it: all columns. Fewer columns cost fewer datapoints.',
  },
  filters: {
    kind: 'text',
    name: 'filters',
    example: "amount > 100 and chain in ('base', 'optimism')",
    about:
      'Which rows to return, as in an SQL `WHERE`: comparisons, `in`, `like`, `between`, `is null`, `contains`, joined by `and`, `or`, `not`. Columns that are not returned may be used.',
  },
  search: {
    kind: 'text',
    name: 'search',
    example: 'uniswap',
    about:
      'Only rows in which a value contains this text, whatever the case. Numbers, dates and times are searched as CSV writes them if the text has a digit, binary values as `0x` and hexadecimal digits, arrays by their elements; booleans, maps and rows are not. `%` and `_` stand for themselves. At most 1,000 characters. Together with `filters`, both must match.',
  },
  sortBy: {
    kind: 'text',
    name: 'sort_by',
    example: 'amount desc, wallet',
    about:
      'The order of the rows, as in an SQL `ORDER BY`. Ties keep the stored order, so pages join up exactly; nulls come last. Without it: as stored.',
  },
  sampleCount: {
    kind: 'integer',
    name: 'sample_count',
    min: 1,
    example: 10,
    excludes: ['limit', 'offset', 'filters', 'search'],
    about:
      'So many rows, drawn at random. Each row is equally likely, and each call draws again, unless `sample_seed` is given. If the result has fewer rows, all of them. Not together with `limit`, `offset`, `filters` or `search`.',
  },
  sampleSeed: {
    kind: 'integer',
    name: 'sample_seed',
    min: 0,
    example: 7,
    about:
      'With `sample_count`: the same number draws the same rows of a result each time, so the answer has an `ETag`. Without it, each call draws again.',
  },
  allowPartialResults: {
    kind: 'boolean',
    name: 'allow_partial_results',
    about:
      'Return a result that was truncated because it was too large to store. Without it, such a result is refused.',
  },
  ignoreMaxDatapoints: {
    kind: 'boolean',
    name: 'ignore_max_datapoints_per_request',
    about: 'Lift the limit of datapoints for this answer.',
  },
  format: {
    kind: 'choice',
    name: 'format',
    choices: ['json', 'ndjson', 'csv', 'parquet'],
    example: 'ndjson',
    about:
      'The format of the answer, whatever `Accept` says. It takes the names that `Accept` takes, too. Without it, `Accept` decides; without both, the answer is JSON. An address that ends in `/csv` answers with CSV only.',
  },
  count: {
    kind: 'choice',
    name: 'count',
    choices: ['exact'],
    example: 'exact',
    about:
      'With `exact` the answer says how many rows match `filters` and `search` in all: `X-Service-Filtered-Row-Count`, in JSON also `metadata.filtered_row_count`. All rows are searched for it, once. Without it, both are there where the number costs a few milliseconds at most to count, as in a result of some 100,000 rows; the header also where it is known anyway.',
  },
  bigints: {
    kind: 'choice',
    name: 'bigints',
    choices: ['number', 'string'],
    example: 'string',
    about:
      'In JSON and NDJSON: `string` writes integers beyond ±9007199254740991 as strings of digits, within lists, maps and rows too, for readers that round such numbers (JavaScript, spreadsheets). Absent: `number`.',
  },
  csv: {
    kind: 'choice',
    name: 'csv',
    choices: ['plain', 'spreadsheet'],
    example: 'spreadsheet',
    about:
      'In CSV: `spreadsheet` begins with a byte order mark, and puts an apostrophe before texts and names of columns that begin with `=`, `+`, `-`, `@`, a tab or a carriage return, which a spreadsheet would run as formulas. It changes these values; numbers stay as they are. Absent: `plain`.',
  },
  asOf: {
    kind: 'text',
    name: 'as_of',
    example: '2024-03-05T20:50:59Z',
    about:
      'On addresses of queries and datasets: the run that was the latest at this time, of those whose results are still stored. It had ended at this time or before. A date is its first moment, and a time without a zone is in UTC. If there is no such run: 404, which names the first runs there are. An address that names an execution ignores it.',
  },
  executionId: {
    kind: 'text',
    name: 'execution_id',
    example: '01HR7PD8XYZ3M4N5P6Q7R8S9TA',
    about: 'Never needed. If the address names an execution, it must be the same one.',
  },
  queryId: {
    kind: 'text',
    name: 'queryID',
    example: '1215383',
    about: 'Never needed. If the address names a query, it must be the same one; a dataset takes any number.',
  },
} as const satisfies Readonly<Record<string, SharedParameter>>;
