/**
 * Runs that an engine elsewhere carries out (contract §9): begun, started, failed, cancelled. Their results are in
 * upload-writes.ts. A run that the service itself carries out is cancelled here, too.
 */
import { type Execution, type ExecutionError, stateAt } from '../../domain/execution.ts';
import {
  DEFAULT_ERROR_TYPE,
  ERROR_MESSAGE_LENGTH_MAX,
  ERROR_TYPE_LENGTH_MAX,
  executionErrorProblem,
  POSITION_MAX,
} from '../../domain/run-input.ts';
import { RequestError } from '../../errors/errors.ts';
import { runEnvelopeOf } from '../../results/respond/envelope.ts';
import type { RunQueue } from '../../runs/run-queue.ts';
import { writableExecution, writableQuery } from './authorize.ts';
import { integer, type ReadField, readFields, required, text } from './fields.ts';
import { PARAMETERS } from './query-parameters.ts';
import { type JsonHandler, jsonWrite, type WriteDeps, type WriteRoute } from './write-request.ts';

export interface ExecutionWritesDeps extends WriteDeps {
  /** Told of every cancelled run, since this process may be carrying it out. */
  readonly runQueue: Pick<RunQueue, 'notify'>;
  /** A new execution id: a ULID. */
  readonly newId: () => string;
}

export function executionWrites(deps: ExecutionWritesDeps): readonly WriteRoute[] {
  return [
    jsonWrite('POST', '/query/:id/executions', 'write', beginning(deps)),
    jsonWrite('POST', '/execution/:id/start', 'write', starting(deps)),
    jsonWrite('POST', '/execution/:id/fail', 'write', failing(deps)),
    jsonWrite('POST', '/execution/:id/cancel', 'write', cancelling(deps)),
  ];
}

/** The execution as it is now, without rows. */
export function executionBody(execution: Execution, now: number): object {
  return runEnvelopeOf(execution, stateAt(execution, now));
}

function beginning(deps: ExecutionWritesDeps): JsonHandler {
  return async ({ principal, path, body, stats, commit }) => {
    const { id: queryId } = await writableQuery(deps.catalog, principal, path.id ?? '');
    stats.queryId = queryId;
    const { query_parameters: parameters = {} } = readFields(await body(), { query_parameters: PARAMETERS });
    const submittedAt = deps.clock();
    const execution: Execution = { id: deps.newId(), queryId, parameters, state: 'PENDING', submittedAt };
    return await commit(async (transaction, current) => {
      await writableQuery(transaction, current, path.id ?? '');
      await transaction.executions.add(execution);
      return { status: 201, body: executionBody(execution, submittedAt) };
    });
  };
}

function starting(deps: ExecutionWritesDeps): JsonHandler {
  return async ({ principal, path, body, commit }) => {
    await writableExecution(deps.catalog, principal, path.id ?? '', deps.clock());
    readFields(await body(), {});
    return await commit(async (transaction, current) => {
      const { id } = await writableExecution(transaction, current, path.id ?? '', deps.clock());
      const now = deps.clock();
      return { status: 200, body: executionBody(await transaction.executions.start(id, now), now) };
    });
  };
}

function failing(deps: ExecutionWritesDeps): JsonHandler {
  return async ({ principal, path, body, commit }) => {
    await writableExecution(deps.catalog, principal, path.id ?? '', deps.clock());
    const error = readError(await body());
    return await commit(async (transaction, current) => {
      const { id } = await writableExecution(transaction, current, path.id ?? '', deps.clock());
      const now = deps.clock();
      return { status: 200, body: executionBody(await transaction.executions.fail(id, error, now), now) };
    });
  };
}

function cancelling(deps: ExecutionWritesDeps): JsonHandler {
  return async ({ principal, path, body, commit }) => {
    await writableExecution(deps.catalog, principal, path.id ?? '', deps.clock());
    readFields(await body(), {});
    const answer = await commit(async (transaction, current) => {
      const { id } = await writableExecution(transaction, current, path.id ?? '', deps.clock());
      await transaction.executions.cancel(id, deps.clock());
      return { status: 200, body: { success: true } };
    });
    deps.runQueue.notify({ kind: 'cancelled', executionId: (path.id ?? '').toUpperCase() });
    return answer;
  };
}

const METADATA: ReadField<{ readonly line?: number; readonly column?: number }> = (value, name) =>
  readFields(value, { line: integer(1, POSITION_MAX), column: integer(1, POSITION_MAX) }, name);

function readError(body: unknown): ExecutionError {
  const fields = readFields(body, {
    type: text(1, ERROR_TYPE_LENGTH_MAX),
    message: text(1, ERROR_MESSAGE_LENGTH_MAX),
    metadata: METADATA,
  });
  const { type = DEFAULT_ERROR_TYPE, metadata = {} } = fields;
  const error = { type, message: required(fields.message, 'message'), ...metadata };
  const problem = executionErrorProblem(error);
  if (problem !== undefined) throw new RequestError('invalid_body', problem);
  return error;
}
