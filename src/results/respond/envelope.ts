/** The JSON envelope (specification §2.1–2.3) as plain objects with wire names. A field that does not apply is absent. */

import { formatColumnType } from '../../domain/column-type.ts';
import { datapointsOf } from '../../domain/datapoints.ts';
import { type Execution, type ExecutionState, formatState, STATES } from '../../domain/execution.ts';
import { formatInstant } from '../../domain/instant.ts';
import type { Column, ResultSet } from '../../domain/result-set.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Everything but the result: ids, state and times. @param state the state that the reader is shown */
export function envelopeOf(execution: Execution, state: ExecutionState): Fields {
  return {
    execution_id: execution.id,
    query_id: execution.queryId,
    state: formatState(state),
    is_execution_finished: STATES[state].terminal,
    submitted_at: formatInstant(execution.submittedAt),
    ...(execution.startedAt !== undefined && { execution_started_at: formatInstant(execution.startedAt) }),
    ...(execution.endedAt !== undefined && { execution_ended_at: formatInstant(execution.endedAt) }),
    ...(execution.cancelledAt !== undefined && { cancelled_at: formatInstant(execution.cancelledAt) }),
    ...(execution.expiresAt !== undefined && { expires_at: formatInstant(execution.expiresAt) }),
    ...(execution.error !== undefined && { error: errorOf(execution.error) }),
  };
}

/** The envelope for clients that write or poll runs: also with the values of the run's parameters, if it has any. */
export function runEnvelopeOf(execution: Execution, state: ExecutionState): Fields {
  const { parameters } = execution;
  const envelope = envelopeOf(execution, state);
  return Object.keys(parameters).length === 0 ? envelope : { ...envelope, query_parameters: parameters };
}

function errorOf(error: NonNullable<Execution['error']>): Fields {
  const metadata = {
    ...(error.line !== undefined && { line: error.line }),
    ...(error.column !== undefined && { column: error.column }),
  };
  return { type: error.type, message: error.message, ...(Object.keys(metadata).length > 0 && { metadata }) };
}

/**
 * `result.metadata`, of the page: its columns, rows and cell bytes. For `result_metadata` of the status endpoint pass those of
 * the whole result.
 */
export function metadataOf(
  execution: Execution,
  resultSet: ResultSet,
  page: {
    readonly columns: readonly Column[];
    readonly rowCount: number;
    readonly cellBytes: number;
    readonly filteredRowCount?: number | undefined;
  },
): Fields {
  const { submittedAt, startedAt, endedAt } = execution;
  return {
    column_names: page.columns.map((column) => column.name),
    column_types: page.columns.map((column) => formatColumnType(column.type)),
    row_count: page.rowCount,
    result_set_bytes: page.cellBytes,
    total_row_count: resultSet.rowCount,
    ...(page.filteredRowCount !== undefined && { filtered_row_count: page.filteredRowCount }),
    total_result_set_bytes: resultSet.cellBytes,
    datapoint_count: datapointsOf(page.rowCount, page.columns.length, page.cellBytes),
    ...(startedAt !== undefined && { pending_time_millis: startedAt - submittedAt }),
    ...(startedAt !== undefined && endedAt !== undefined && { execution_time_millis: endedAt - startedAt }),
  };
}
