/**
 * A query: what it is called, whose it is, and, where the service runs it, its text. A query belongs to a user or a team and
 * is public or private; an execution is as visible as its query (contract §2).
 */
import type { ColumnDescriptions } from './column-descriptions.ts';
import type { Instant } from './instant.ts';
import { actsFor, type Owner, type Principal } from './principal.ts';
import { includesScope } from './scope.ts';

export const QUERY_PARAMETER_TYPES = ['text', 'number', 'datetime', 'enum'] as const;

/** Queries with this tag hold the runs of SQL that is no query's. They are in no list, unless the tag is asked for. */
export const UNLISTED_TAG = 'sql-execute';

/** What stands at `{{key}}` in a query's text (contract §10). */
export interface QueryParameter {
  readonly key: string;
  readonly type: (typeof QUERY_PARAMETER_TYPES)[number];
  /** What holds where a run names no value; as text, whatever the type. */
  readonly value?: string;
  /** Of an enum: the values it may have. */
  readonly enumOptions?: readonly string[];
}

/** Bounds of what owners say about their queries: characters of each text, and how many tags. */
export const QUERY_NAME_LENGTH_MAX = 200;
export const QUERY_DESCRIPTION_LENGTH_MAX = 10_000;
export const TAG_LENGTH_MAX = 100;
export const TAGS_MAX = 50;

/** What its owner says about a query, and may change. */
export interface QueryDefinition {
  readonly name?: string;
  readonly description?: string;
  readonly tags: readonly string[];
  /** Absent: none. */
  readonly columnDescriptions?: ColumnDescriptions;
  /** What the engine runs; absent where an engine elsewhere does. */
  readonly sql?: string;
  readonly parameters: readonly QueryParameter[];
  /** A cron expression, in UTC. */
  readonly schedule?: string;
  readonly visibility: 'public' | 'private';
  /** An archived query is served, not run. */
  readonly isArchived: boolean;
}

export interface Query extends QueryDefinition {
  readonly id: number;
  readonly owner: Owner;
  /** 1, and one more with each change. */
  readonly version: number;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  /** Since when it has had its schedule, and been run by it. Other changes, as of its name, leave its ticks alone. */
  readonly scheduledAt: Instant;
}

/** What is left out is empty. */
export type NewQuery = Pick<Query, 'id' | 'owner' | 'visibility'> & Partial<QueryDefinition>;

/** What is left out stays as it is; undefined takes a text away. */
export type QueryChanges = {
  readonly [Name in keyof QueryDefinition]?: QueryDefinition[Name] | undefined;
} & { readonly owner?: Owner };

/** Of a query, what must fit together, and so is checked together. */
export function whatRuns({ sql, parameters, schedule }: QueryDefinition): object {
  return { sql, parameters, schedule };
}

export function mayRead(principal: Principal, query: Pick<Query, 'owner' | 'visibility'>): boolean {
  return query.visibility === 'public' || principal.scope === 'admin' || actsFor(principal, query.owner);
}

/** Whether the principal may change the query, publish to it and run it (contract §8). */
export function mayWrite(principal: Principal, query: Pick<Query, 'owner'>): boolean {
  return principal.scope === 'admin' || (includesScope(principal.scope, 'write') && actsFor(principal, query.owner));
}

/** Why an archived query takes no run, whoever asks for it. */
export function archivedProblem({ id }: Pick<Query, 'id'>): string {
  return `query ${id} is archived: it is served, not run; unarchive it first`;
}

/** All that is given must hold. */
export interface QueryFilter {
  /** It has a schedule and SQL, and is not archived. */
  readonly runsOnSchedule?: true;
  readonly owner?: Owner;
  readonly tag?: string;
}

/** What its ticks are claimed under. Of the runs that bear this name as their identity one at a time waits or runs. */
export function scheduleName({ id }: Pick<Query, 'id'>): string {
  return `query:${id}`;
}
