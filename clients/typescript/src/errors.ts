/** The errors that this client throws. The reason of an aborted signal is thrown as it is. */
export class QueryResultsError extends Error {
  override readonly name: string = 'QueryResultsError';
}

/** The service refused, or could not be reached in any attempt. The message of a refusal is the service's own. */
export class ServiceError extends QueryResultsError {
  override readonly name = 'ServiceError';
  /** The HTTP status; undefined if no answer came. */
  readonly status: number | undefined;
  /** The stable code of the error, `X-Error-Code`, such as `filter_column`. */
  readonly code: string | undefined;

  constructor(message: string, status?: number, code?: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
    this.code = code;
  }
}

/** The pages do not add up to the number of rows that the service announced, so what came is not the whole. */
export class IncompleteResult extends QueryResultsError {
  override readonly name = 'IncompleteResult';
}

/** A run has no result to read: it failed, was cancelled or has expired, or it has not ended yet. */
export class RunFailed extends QueryResultsError {
  override readonly name = 'RunFailed';
  readonly executionId: string;
  /** Such as `QUERY_STATE_FAILED`. */
  readonly state: string;

  constructor(message: string, executionId: string, state: string) {
    super(message);
    this.executionId = executionId;
    this.state = state;
  }
}
