/**
 * Results that were truncated at the maximum stored size: who may read one, and which state is shown (contract §3). A reader
 * who does not ask for partial results gets an error, never an answer that is silently short.
 */
import type { Execution, ExecutionState } from '../../domain/execution.ts';
import { RequestError } from '../../errors/errors.ts';
import { allowsPartialResults, type ResultsRequest } from '../request/results-request.ts';
import { envelopeOf } from './envelope.ts';

/** The state that the reader is shown. */
export function shownState(state: ExecutionState, partialAsCompleted: boolean): ExecutionState {
  return state === 'COMPLETED_PARTIAL' && partialAsCompleted ? 'COMPLETED' : state;
}

/**
 * For a reader who did not accept a partial result, a truncated one is a failure (specification §7).
 * @throws RequestError partial_result
 */
export function requireWhole(
  state: ExecutionState,
  execution: Execution,
  { parameters }: ResultsRequest,
  partialAsCompleted: boolean,
): void {
  const isAllowed = partialAsCompleted || allowsPartialResults(parameters);
  if (state !== 'COMPLETED_PARTIAL' || isAllowed) return;
  throw new RequestError('partial_result', `Partial Result, please request with 'allow_partial_results=true'`, {
    body: envelopeOf(execution, 'FAILED'),
  });
}
