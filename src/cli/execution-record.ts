/** An execution as commands print it: the names that the API has for the same things (contract §3). */
import { type Execution, formatState, STATES, stateAt } from '../domain/execution.ts';
import { formatInstant, type Instant } from '../domain/instant.ts';
import { progressRecord, type RunProgress } from '../domain/run-progress.ts';

/** The state is the one that a reader sees at `now`. */
export function executionRecord(execution: Execution, now: Instant, progress?: RunProgress): object {
  const state = stateAt(execution, now);
  const { error } = execution;
  const at = (instant: Instant | undefined) => (instant === undefined ? undefined : formatInstant(instant));
  return {
    execution_id: execution.id,
    query_id: execution.queryId,
    state: formatState(state),
    is_execution_finished: STATES[state].terminal,
    parameters: execution.parameters,
    submitted_at: at(execution.submittedAt),
    execution_started_at: at(execution.startedAt),
    execution_ended_at: at(execution.endedAt),
    cancelled_at: at(execution.cancelledAt),
    expires_at: at(execution.expiresAt),
    progress: progress && progressRecord(progress),
    error: error && {
      type: error.type,
      message: error.message,
      metadata: error.line === undefined ? undefined : { line: error.line, column: error.column },
    },
  };
}

/** The same as lines of name=value, nested ones under dotted names. */
export function* executionLines(record: object, prefix = ''): Iterable<string> {
  for (const [name, value] of Object.entries(record)) {
    if (typeof value === 'object' && value !== null) yield* executionLines(value, `${prefix}${name}.`);
    else if (value !== undefined) yield `${prefix}${name}=${value}`;
  }
}
