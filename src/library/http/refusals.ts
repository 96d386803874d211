/** Turns the service's refusals into the errors that the same mistakes have on a data directory. */
import { CatalogConflict, IllegalTransition, LeaseLost } from '../../catalog/catalog.ts';
import { EXECUTION_STATES, type ExecutionState, formatState } from '../../domain/execution.ts';
import { PublishError } from '../../publishing/publish-error.ts';
import type { Answer } from './connection.ts';

/** The key is unknown, revoked or expired, or may not do what was asked. */
export class AccessError extends Error {
  override readonly name: string = 'AccessError';
}

/** The service could not be reached, or could not do what was asked, in any attempt. */
export class ServiceError extends Error {
  override readonly name: string = 'ServiceError';
  /** The status of the last answer; undefined if there was none. */
  readonly status: number | undefined;
  /** Its `X-Error-Code`. */
  readonly code: string | undefined;

  constructor(message: string, options: ErrorOptions & Partial<Pick<Answer, 'status' | 'code'>> = {}) {
    super(message, options);
    this.status = options.status;
    this.code = options.code;
  }
}

export interface Asked {
  /** A result is published, and not a run begun or ended. */
  readonly publishes?: boolean;
  /** The run that it is about, and the state that it was to enter. */
  readonly run?: { readonly id: string; readonly to: ExecutionState };
}

const NO_SUCH_RUN: readonly unknown[] = ['execution_not_found', 'invalid_execution_id'];
const NO_SUCH_QUERY: readonly unknown[] = ['query_not_found', 'invalid_query_id'];
/** The same request, sent before, is still being carried out. */
export const PASSING_CODE = 'idempotency_in_progress';
/** Statuses that mean that the request itself is wrong. */
const WRONG_STATUSES: readonly number[] = [400, 409, 413, 415, 422];

const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

/** @param answer with a status that is no success */
export function refusalOf(answer: Answer, { run, publishes = false }: Asked): Error {
  const { status, code, body } = answer;
  const text = typeof body.error === 'string' ? body.error : `the service answered ${status}`;
  if (REDIRECTS.includes(status)) return redirected(answer);
  if (status === 401 || status === 403) return new AccessError(text);
  if (run !== undefined && NO_SUCH_RUN.includes(code)) return new IllegalTransition(run.id, undefined, run.to);
  if (run !== undefined && code === 'illegal_transition') {
    const { from, message } = new IllegalTransition(run.id, stateOf(body.state), run.to);
    return new IllegalTransition(run.id, from, run.to, text.startsWith(message) ? text.slice(message.length) : '');
  }
  if (code === 'conflict') return publishes ? new PublishError(text, { kind: 'busy' }) : new CatalogConflict(text);
  if (code === 'query_not_runnable') {
    return publishes ? new PublishError(text, { kind: 'archived' }) : new CatalogConflict(text);
  }
  if (NO_SUCH_QUERY.includes(code)) return publishes ? new PublishError(text) : new CatalogConflict(text);
  if (code === 'taken_over') return new LeaseLost(text);
  const isWrong = (code !== undefined && WRONG_STATUSES.includes(status)) || status === 431;
  // An attempt of before is still under way, and may come to its end.
  if (isWrong && code !== PASSING_CODE) return new PublishError(text);
  return new ServiceError(`${text} (${status})`, answer);
}

function redirected(answer: Answer): ServiceError {
  const where = answer.location === undefined ? '' : ` to ${answer.location}`;
  return new ServiceError(`redirected${where}, which is not followed: url is where the service itself answers`, answer);
}

/** The state of a name on the wire. */
export function stateOf(name: unknown): ExecutionState | undefined {
  return EXECUTION_STATES.find((state) => formatState(state) === name);
}
