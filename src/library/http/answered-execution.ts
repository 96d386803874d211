/** Reads a run out of the service's answer. */
import type { Execution, ExecutionError } from '../../domain/execution.ts';
import { ServiceError, stateOf } from './refusals.ts';

type Fields = Readonly<Record<string, unknown>>;

/** @throws ServiceError when it is no run: something other than the service has answered */
export function answeredExecution(body: Fields): Execution {
  const state = stateOf(body.state);
  const submittedAt = instantOf(body.submitted_at);
  if (typeof body.execution_id !== 'string' || state === undefined || submittedAt === undefined) {
    throw new ServiceError('the answer is not one of this service: check the address');
  }
  const [startedAt, endedAt, cancelledAt, expiresAt] = [
    body.execution_started_at,
    body.execution_ended_at,
    body.cancelled_at,
    body.expires_at,
  ].map(instantOf);
  const error = state === 'FAILED' ? errorOf(body.error) : undefined;
  return {
    id: body.execution_id,
    queryId: Number(body.query_id),
    parameters: (body.query_parameters ?? {}) as Execution['parameters'],
    state,
    submittedAt,
    ...(startedAt !== undefined && { startedAt }),
    ...(endedAt !== undefined && { endedAt }),
    ...(cancelledAt !== undefined && { cancelledAt }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(error !== undefined && { error }),
  };
}

function instantOf(value: unknown): number | undefined {
  const millis = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(millis) ? undefined : millis;
}

function errorOf(value: unknown): ExecutionError | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { metadata = {}, ...error } = value as ExecutionError & { readonly metadata?: Partial<ExecutionError> };
  return { ...error, ...metadata };
}
