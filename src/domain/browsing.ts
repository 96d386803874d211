/** What is asked when somebody looks around: which queries there are, and which runs a query has had (contract §8). */
import type { Execution, ExecutionState } from './execution.ts';
import type { Instant } from './instant.ts';
import type { Principal } from './principal.ts';
import type { Query } from './query.ts';

export interface ListSlice {
  readonly offset: number;
  readonly limit: number;
}

/** All that is given must hold. */
export interface QuerySearch extends ListSlice {
  /** Only what it may read. */
  readonly reader: Pick<Principal, 'owner' | 'teams' | 'scope'>;
  /** At this moment a result is stored, or has expired. */
  readonly now: Instant;
  /** Words that stand in the name, the description, the tags or the id, whatever the case of Latin letters: each of them in one of these. */
  readonly text?: string;
  /** The name of a user or a team. */
  readonly owner?: string;
  readonly tag?: string;
  readonly hasResults?: boolean;
}

/** A run, and what is known of its result where one is stored. */
export interface RunSummary {
  readonly execution: Execution;
  readonly rowCount?: number;
  /** Cell bytes, in the measure of contract §2. */
  readonly cellBytes?: number;
}

export interface FoundQuery {
  readonly query: Query;
  /** As `Executions.findLatest` finds it; absent where the query has never run. */
  readonly latest?: RunSummary;
}

export interface RunFilter extends ListSlice {
  readonly queryId: number;
  /** As it is to be seen at `now`: results past their expiry are EXPIRED. */
  readonly state?: ExecutionState;
  readonly now: Instant;
  /** Submitted at this time or later. */
  readonly from?: Instant;
  /** Submitted before this time. */
  readonly to?: Instant;
}

/** Which run was the latest at an earlier time. */
export interface AsOfSearch {
  readonly queryId: number;
  /** Only runs that have each of these values. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The run had ended by then. */
  readonly asOf: Instant;
  /** Its result has not expired now. */
  readonly now: Instant;
}

/** A part of a list, and how long the whole is. */
export interface ListPage<T> {
  readonly items: readonly T[];
  readonly total: number;
}

/** More words than these narrow nothing down. */
const WORDS_MAX = 10;

/** The words of a search, their Latin letters in lower case. */
export function searchWords(text: string): readonly string[] {
  // Others stay as they are: databases lower these alone.
  return text
    .replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
    .split(/\s+/)
    .filter(Boolean)
    .slice(0, WORDS_MAX);
}
