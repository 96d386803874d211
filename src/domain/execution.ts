/**
 * An execution is one run of a query. Its life is the state table below (contract §3): the one place that says which
 * state may follow which, and what each state means to a reader.
 */
import { type Instant, isExpired } from './instant.ts';

/** The stored states. EXPIRED may also be read off the clock before the sweep has stored it: see `stateAt`. */
export type ExecutionState =
  | 'PENDING'
  | 'EXECUTING'
  | 'COMPLETED'
  | 'COMPLETED_PARTIAL'
  | 'FAILED'
  | 'CANCELLED'
  | 'EXPIRED';

export interface ExecutionError {
  readonly type: string;
  readonly message: string;
  readonly line?: number;
  readonly column?: number;
}

export interface Execution {
  /** A ULID, upper case. */
  readonly id: string;
  readonly queryId: number;
  /** Named query parameters and their values, as text. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly state: ExecutionState;
  readonly submittedAt: Instant;
  readonly startedAt?: Instant;
  readonly endedAt?: Instant;
  readonly cancelledAt?: Instant;
  readonly expiresAt?: Instant;
  readonly error?: ExecutionError;
}

interface StateRule {
  readonly next: readonly ExecutionState[];
  readonly terminal: boolean;
  readonly hasResult: boolean;
}

export const STATES: Readonly<Record<ExecutionState, StateRule>> = {
  PENDING: { next: ['EXECUTING', 'FAILED', 'CANCELLED'], terminal: false, hasResult: false },
  EXECUTING: { next: ['COMPLETED', 'COMPLETED_PARTIAL', 'FAILED', 'CANCELLED'], terminal: false, hasResult: false },
  COMPLETED: { next: ['EXPIRED'], terminal: true, hasResult: true },
  COMPLETED_PARTIAL: { next: ['EXPIRED'], terminal: true, hasResult: true },
  FAILED: { next: [], terminal: true, hasResult: false },
  CANCELLED: { next: [], terminal: true, hasResult: false },
  EXPIRED: { next: [], terminal: true, hasResult: false },
};

export const EXECUTION_STATES = Object.keys(STATES) as readonly ExecutionState[];

/** The states from which `state` may be entered. */
export function statesBefore(state: ExecutionState): readonly ExecutionState[] {
  return EXECUTION_STATES.filter((from) => STATES[from].next.includes(state));
}

/** The state a reader sees at `now`: a result past its expiry is EXPIRED at once, swept or not (contract §2). */
export function stateAt(execution: Execution, now: Instant): ExecutionState {
  const { state, expiresAt } = execution;
  return STATES[state].hasResult && isExpired(expiresAt, now) ? 'EXPIRED' : state;
}

/** The state's name on the wire. */
export function formatState(state: ExecutionState): string {
  return `QUERY_STATE_${state}`;
}

/** A ULID: 26 Crockford characters, the first at most 7 (128 bits). Either case is accepted. */
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/i;

export function isExecutionId(text: string): boolean {
  return ULID.test(text);
}
