/** What was asked for, by whom, on which day, as it is counted and summed. */
import type { Owner } from './principal.ts';

export interface UsageCounts {
  readonly requests: number;
  readonly datapoints: number;
  /** Of the bodies, as they were sent: compressed where they were. */
  readonly bytes: number;
}

export interface Use extends UsageCounts {
  /** In UTC: `2024-03-05`. */
  readonly day: string;
  readonly keyId: string;
  /** Absent for requests that met no query: addresses, ids and names that are not there. */
  readonly queryId?: number;
}

/** Names what is added, so that what was sent twice counts once. */
export interface UsageBatch {
  /** Who adds: another name for every process. */
  readonly writer: string;
  /** Another one for each batch of the writer, who sends no new one before it knows that the last was added. */
  readonly number: number;
}

export interface UsageFilter {
  /** The first and the last day that count. */
  readonly from?: string;
  readonly to?: string;
  readonly keyId?: string;
  readonly owner?: Owner;
  readonly queryId?: number;
}

/** What usage can be grouped by. By user leaves out the keys of teams, by team the keys of users. */
export type UsagePart = 'day' | 'key' | 'user' | 'team' | 'query';

/** The parts asked for, with their counts. */
export interface UsageSum extends UsageCounts {
  readonly day?: string;
  readonly keyId?: string;
  readonly user?: string;
  readonly team?: string;
  readonly queryId?: number;
}
