/** A run in a list: its envelope, and the size of its result. */
import type { RunSummary } from '../../domain/browsing.ts';
import { formatState, STATES, stateAt } from '../../domain/execution.ts';
import { formatInstant, type Instant } from '../../domain/instant.ts';
import { envelopeOf } from '../../results/respond/envelope.ts';

/** An item of a list of runs. */
export function runView(run: RunSummary, now: Instant): object {
  const { execution } = run;
  const { parameters } = execution;
  return {
    ...envelopeOf(execution, stateAt(execution, now)),
    ...(Object.keys(parameters).length > 0 && { query_parameters: parameters }),
    ...sizeOf(run, now),
  };
}

/** `latest_execution` of a query. */
export function latestView(run: RunSummary, now: Instant) {
  const { id, submittedAt, endedAt, expiresAt } = run.execution;
  return {
    execution_id: id,
    state: formatState(stateAt(run.execution, now)),
    submitted_at: formatInstant(submittedAt),
    ...(endedAt !== undefined && { execution_ended_at: formatInstant(endedAt) }),
    ...(expiresAt !== undefined && { expires_at: formatInstant(expiresAt) }),
    ...sizeOf(run, now),
  };
}

function sizeOf({ execution, rowCount, cellBytes }: RunSummary, now: Instant): object {
  return STATES[stateAt(execution, now)].hasResult ? { row_count: rowCount, bytes: cellBytes } : {};
}
