/**
 * The table of errors: every way a request can fail, its status, and its stable code (`X-Error-Code`, contract §4).
 * Errors are made here and nowhere else; docs/reference/errors.md lists the same codes and a test holds the two together.
 */

interface ErrorKind {
  readonly status: number;
  /** What `Retry-After` says, unless the one who refuses knows better. */
  readonly retryAfterSeconds?: number;
  readonly when: string;
}

export const ERRORS = {
  invalid_api_key: { status: 401, when: 'The key is missing, unknown, revoked or expired.' },
  scope: {
    status: 403,
    when: 'The scope of the key does not allow this, or the query belongs to another user or team.',
  },
  origin_not_allowed: {
    status: 403,
    when: 'Only from /mcp: a page of an origin asks that `QRS_CORS_ORIGINS` does not name.',
  },
  method_not_allowed: { status: 405, when: 'Only from /mcp, which answers POST alone.' },
  route_not_found: { status: 404, when: 'No such address, or not with this method.' },
  invalid_execution_id: { status: 400, when: 'The execution id is not a ULID.' },
  invalid_query_id: { status: 400, when: 'The query id is not a whole number.' },
  execution_not_found: { status: 404, when: 'No such execution, or its query is not yours to see.' },
  query_not_found: { status: 404, when: 'No such query, or it is private and not yours.' },
  share_not_found: {
    status: 404,
    when: 'Nothing is shared at this address: the share is unknown, has ended or has expired.',
  },
  webhook_not_found: { status: 404, when: 'No such webhook, or it belongs to another user or team.' },
  no_execution_found: {
    status: 404,
    when: 'The query has never run (with these parameters), or no run that had ended by `as_of` has a stored result.',
  },
  no_result: {
    status: 409,
    when: 'The execution has no result in its state, and the format asked for has no place to say so; JSON has.',
  },
  partial_result: {
    status: 400,
    when: 'The stored result was truncated, and the request does not allow partial results.',
  },
  query_not_runnable: {
    status: 400,
    when: 'The query has no SQL that the service could run, or is archived: then it is served, and takes no runs and no results.',
  },
  invalid_query: {
    status: 400,
    when: "The query's SQL cannot be run: it is not one SELECT over source tables, or a {{parameter}} stands where no value can.",
  },
  invalid_query_parameter: {
    status: 400,
    when: 'A parameter of the query is unknown, has no value, or one that is not of its type.',
  },
  too_many_runs: {
    status: 429,
    retryAfterSeconds: 5,
    when: 'The key has as many runs waiting as it may.',
  },
  invalid_parameter: { status: 400, when: 'The value of a parameter is not valid.' },
  incompatible_parameters: { status: 400, when: 'Two parameters exclude each other.' },
  unknown_column: { status: 400, when: 'The result has no column of that name.' },
  unsupported_column: { status: 400, when: 'The format asked for cannot hold a column of the result.' },
  datapoint_limit: {
    status: 400,
    when: 'The answer would exceed the limit of datapoints, and could not say where it continues.',
  },
  filter_syntax: { status: 400, when: 'The filter expression cannot be read.' },
  filter_column: {
    status: 400,
    when: 'The filter expression names a column that does not exist, or several that differ only in case.',
  },
  filter_type: { status: 400, when: 'The filter expression compares what cannot be compared.' },
  filter_value: { status: 400, when: "A value in the filter expression cannot be read as its column's type." },
  filter_unsupported: { status: 400, when: 'The filter expression uses SQL that filters do not have.' },
  filter_limit: {
    status: 400,
    when: 'The filter expression is too long, is nested too deep, or has too many conditions.',
  },
  sort_syntax: { status: 400, when: 'The sort expression cannot be read.' },
  sort_column: {
    status: 400,
    when: 'The sort expression names a column that does not exist, or several that differ only in case.',
  },
  sort_type: { status: 400, when: 'The sort expression names a column whose type has no order.' },
  sort_limit: { status: 400, when: 'The sort expression is too long or has too many keys.' },
  invalid_body: {
    status: 400,
    when: 'The body is no JSON, has more than 10,000 values, or a field of it is unknown, missing or not what it must be.',
  },
  invalid_result: {
    status: 400,
    when: 'The file is not what it should be: the text says where and what was found. Nothing was changed.',
  },
  invalid_digest: {
    status: 400,
    when: 'The Content-Digest header cannot be read, or has no hash that the service knows.',
  },
  digest_mismatch: {
    status: 400,
    when: 'The body that arrived is not the one that Content-Digest describes. Nothing was changed.',
  },
  invalid_idempotency_key: { status: 400, when: 'The Idempotency-Key header cannot be read.' },
  body_stalled: { status: 408, when: 'The body stopped arriving, or, being JSON, took too long. Nothing was changed.' },
  conflict: { status: 409, when: 'The id or the name is taken, or something that the request names is not there.' },
  illegal_transition: {
    status: 409,
    when: "The execution is in a state from which it cannot take this step; `state` says which. Or the service's own engine runs it, and it can only be cancelled.",
  },
  idempotency_in_progress: {
    status: 409,
    retryAfterSeconds: 1,
    when: 'The first request with this Idempotency-Key has not been answered yet.',
  },
  body_too_large: { status: 413, when: 'The body is larger than the service takes.' },
  unsupported_media_type: { status: 415, when: 'The body has a type or an encoding that the service does not read.' },
  idempotency_mismatch: { status: 422, when: 'The same Idempotency-Key was sent before with another request.' },
  too_many_uploads: {
    status: 429,
    retryAfterSeconds: 5,
    when: 'The key is sending as many results at the same time as it may; wait as Retry-After says.',
  },
  bad_request: {
    status: 400,
    when: 'The request is not well-formed HTTP, its method is none that HTTP has, or its address cannot be decoded.',
  },
  expectation_failed: { status: 417, when: 'The service does not do what the Expect header asks for.' },
  precondition_failed: {
    status: 412,
    when: 'The answer is not, or no longer, the one that `If-Match` or `If-Unmodified-Since` asks for.',
  },
  range_not_satisfiable: { status: 416, when: 'The Range header asks for bytes behind the end of the answer.' },
  rate_limited: {
    status: 429,
    retryAfterSeconds: 5,
    when: 'The key has made too many requests, or its address has sent too many wrong keys; wait as Retry-After says.',
  },
  overloaded: { status: 503, retryAfterSeconds: 5, when: 'Too much work is waiting; try again as Retry-After says.' },
  not_ready: {
    status: 503,
    retryAfterSeconds: 5,
    when: 'Only from /readyz: something that the service needs is missing or damaged; the text names it.',
  },
  catalog_unavailable: {
    status: 503,
    retryAfterSeconds: 2,
    when: "The service's catalog does not answer at the moment. A change may or may not have been made; try again as Retry-After says.",
  },
  store_unavailable: {
    status: 503,
    retryAfterSeconds: 2,
    when: 'The store of results does not answer at the moment; try again as Retry-After says.',
  },
  engine_unavailable: {
    status: 503,
    retryAfterSeconds: 5,
    when: 'The Trino that runs the queries does not answer at the moment, and is needed to check the SQL of a query; try again as Retry-After says.',
  },
  taken_over: {
    status: 503,
    retryAfterSeconds: 1,
    when: 'Another process has taken this change over while it was carried out, and nothing was changed here; ask again as Retry-After says.',
  },
  shutting_down: { status: 503, retryAfterSeconds: 5, when: 'The service is stopping; try again as Retry-After says.' },
  storage_full: {
    status: 503,
    retryAfterSeconds: 60,
    when: 'A disk of the service is full, and this answer needs room on it; other answers may not.',
  },
  workspace_unavailable: {
    status: 503,
    retryAfterSeconds: 60,
    when: 'A folder of the service that this answer, or a result that is sent, needs cannot be used: it may not be written to, or something else is in its place. Nothing was changed; other answers may not need it.',
  },
  read_timeout: { status: 504, when: 'The read, or the check of the SQL of a query, exceeded its time limit.' },
  result_damaged: { status: 500, when: 'The stored bytes of this result do not match their checksum.' },
  internal: { status: 500, when: 'A fault of the service; the log says more under the request id.' },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof ERRORS;

/** A failure with an answer of its own. `message` is the text the client reads; never a key, never SQL, never a path. */
export class RequestError extends Error {
  readonly code: ErrorCode;
  /** Further fields of the error body, such as `state`. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly retryAfterSeconds: number | undefined;
  /** Further headers of the answer. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ErrorCode,
    message: string,
    more: {
      readonly body?: Readonly<Record<string, unknown>>;
      readonly retryAfterSeconds?: number;
      readonly headers?: Readonly<Record<string, string>>;
      /** For the log: clients are not told. */
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, more);
    this.code = code;
    this.body = more.body ?? {};
    const kind: ErrorKind = ERRORS[code];
    this.retryAfterSeconds = more.retryAfterSeconds ?? kind.retryAfterSeconds;
    this.headers = more.headers ?? {};
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}
