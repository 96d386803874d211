/**
 * The catalog: everything that the service remembers except the rows. It holds principals and keys, queries, executions, manifests of
 * result sets, leases and schedule ticks. This is a seam: one interface, implementations in sibling folders (sqlite/, postgres/), and one contract
 * suite (test/contract/catalog.ts) that runs over each.
 *
 * Every method is one atomic step. Several processes may share a catalog; each sees what others committed.
 */
import type { ClockRecord } from '../domain/clock-record.ts';
import type { Execution, ExecutionError, ExecutionState } from '../domain/execution.ts';
import type { Clock, Instant } from '../domain/instant.ts';
import type { KeptAnswer, NewKeptAnswer } from '../domain/kept-answer.ts';
import type { Owner, Principal } from '../domain/principal.ts';
import { archivedProblem, type NewQuery, type Query, type QueryChanges, type QueryFilter } from '../domain/query.ts';
import type { ResultSet } from '../domain/result-set.ts';
import type { Scope } from '../domain/scope.ts';
import type { Share } from '../domain/share.ts';
import type { UsageBatch, UsageFilter, UsagePart, UsageSum, Use } from '../domain/usage.ts';
import type { Browsing } from './browsing.ts';
import type { Lease, Leases } from './leases.ts';
import type { Replicas } from './replicas.ts';
import type { Runs } from './run-queue.ts';
import type { Webhooks } from './webhooks.ts';

export type { Lease, Leases } from './leases.ts';
export type { Replica, Replicas, SeenReplica } from './replicas.ts';
export type { ClaimedRun, ClaimRequest, Enqueued, NewRun, Runs, WaitingLimits } from './run-queue.ts';
export type { DueDelivery, RecordedAttempt, Webhooks } from './webhooks.ts';

export interface Catalog extends AsyncDisposable {
  /** Rejects if the catalog cannot be reached, is another than was opened, has a schema that is not ours, or takes no commit. */
  check(): Promise<void>;
  /** Reads everything that is stored. Rejects if it is damaged, and says what was found. */
  verify(): Promise<void>;
  /**
   * What time it is by the clock that leases, claims and ticks go by: the database's where hosts share one, else this host's. Other
   * instants are those of whoever wrote them.
   */
  now(): Promise<Instant>;
  /**
   * A number that changes when this or another process commits something that an answer may depend on: principals, keys, queries,
   * executions, results. Usage, leases and ticks do not change it. It is asked before every cached answer, so it is cheap, and comes
   * without a promise if it can. Another process's commits may show a moment later (`QRS_CATALOG_STALENESS`). No number comes twice.
   */
  version(): number | Promise<number>;

  /**
   * Several steps as one: all that `work` does with the catalog it is given is committed together, or nothing when it rejects. Others
   * wait meanwhile to write, so that it may wait for nothing else.
   */
  atomically<T>(work: (transaction: CatalogTransaction) => Promise<T>): Promise<T>;

  readonly principals: Principals;
  readonly queries: Queries;
  readonly executions: Executions;
  readonly browsing: Browsing;
  readonly runs: Runs;
  readonly leases: Leases;
  readonly ticks: Ticks;
  readonly replicas: Replicas;
  readonly usage: Usage;
  readonly installation: Installation;
  readonly idempotencyKeys: IdempotencyKeys;
  readonly webhooks: Webhooks;
}

/** The sections of the catalog that a transaction may use. */
export type CatalogTransaction = Pick<
  Catalog,
  'principals' | 'queries' | 'executions' | 'runs' | 'idempotencyKeys' | 'webhooks'
>;

/** What holds for the installation as a whole. */
export interface Installation {
  /** Whose catalog this is; undefined before its first use with a store. */
  findId(): Promise<string | undefined>;
  /** Keeps the id, unless one is kept already. @returns the one that is kept */
  initializeId(id: string): Promise<string>;
  /** Keeps the id in the place of any other. */
  setId(id: string): Promise<void>;
  findClock(): Promise<ClockRecord | undefined>;
  /** @returns what is now kept */
  updateClock(update: (before: ClockRecord | undefined) => ClockRecord): Promise<ClockRecord>;
}

/** An attempt to add something that exists, or to name something that does not. The message says which. */
export class CatalogConflict extends Error {
  override readonly name: string = 'CatalogConflict';
}

/** A run of an archived query. */
export class QueryArchived extends CatalogConflict {
  constructor(queryId: number) {
    super(archivedProblem({ id: queryId }));
  }
}

export interface Principals {
  /** A user who was removed is there again, without the keys and teams of before. @throws CatalogConflict when the name is taken. */
  addUser(name: string, at: Instant): Promise<void>;
  /**
   * Ends the user's keys, memberships and webhooks, all or nothing.
   * @throws CatalogConflict when there is no such user, or the user owns queries.
   */
  removeUser(name: string, at: Instant): Promise<void>;
  /** @throws CatalogConflict when the name is taken or a member is not a user. */
  addTeam(name: string, members: readonly string[], at: Instant): Promise<void>;
  /** @returns whether the user was no member before @throws CatalogConflict when there is no such team or user. */
  addTeamMember(team: string, user: string): Promise<boolean>;
  /** @returns whether the user was a member @throws CatalogConflict when there is no such team. */
  removeTeamMember(team: string, user: string): Promise<boolean>;
  listUsers(): Promise<readonly { readonly name: string; readonly createdAt: Instant }[]>;
  listTeams(): Promise<
    readonly { readonly name: string; readonly members: readonly string[]; readonly createdAt: Instant }[]
  >;
  /** @throws CatalogConflict when the owner is unknown. */
  addKey(key: NewKey): Promise<void>;
  listKeys(): Promise<readonly StoredKey[]>;
  /** Shares, which are keys too, oldest first: all of them, or those of a query and its executions. */
  listShares(queryId?: number): Promise<readonly StoredShare[]>;
  /** @returns whether there was such a key, not revoked before. */
  revokeKey(id: string, at: Instant): Promise<boolean>;
  /** Keeps when each key was last used; an earlier time than the one kept, or a key that is not there, changes nothing. No answer depends on it. */
  recordKeyUses(uses: readonly KeyUse[]): Promise<void>;
  /** The principal of a key that is not revoked (but may have expired), with the stored hash for a constant-time comparison. */
  findPrincipalByKeyHash(hash: string): Promise<{ readonly principal: Principal; readonly hash: string } | undefined>;
  /** As it is now, whoever the request said it was when it began. */
  findPrincipalByKeyId(id: string): Promise<Principal | undefined>;
}

export interface NewKey {
  readonly id: string;
  /** Lower-case hex SHA-256 of the whole key text: the key itself is never stored. */
  readonly hash: string;
  readonly owner: Owner;
  readonly name?: string;
  /** `read` when left out. */
  readonly scope?: Scope;
  readonly createdAt: Instant;
  readonly expiresAt?: Instant;
  /** It is the token of a share. */
  readonly share?: Share;
}

export interface StoredShare extends StoredKey {
  readonly share: Share;
}

export interface StoredKey extends NewKey {
  readonly scope: Scope;
  readonly revokedAt?: Instant;
  /** To the minute or so; absent while it has not been used. */
  readonly lastUsedAt?: Instant;
}

export interface KeyUse {
  readonly keyId: string;
  readonly at: Instant;
}

export interface Queries {
  /** @throws CatalogConflict when the id is taken or the owner is unknown. */
  add(query: NewQuery, at: Instant): Promise<Query>;
  /**
   * Adds it with an id that no query has or had: the smallest above those given so before.
   * @throws CatalogConflict when the owner is unknown, or there is no such id below `below`.
   */
  addWithNextId(query: Omit<NewQuery, 'id'>, at: Instant, below: number): Promise<Query>;
  /** Makes a new version of it. @throws CatalogConflict when there is no such query, or its new owner is unknown. */
  update(id: number, changes: QueryChanges, at: Instant): Promise<Query>;
  /**
   * Removes the query, what is known of its runs, and webhooks on it.
   * @throws CatalogConflict when there is no such query, it has a stored result, or a run that has not ended.
   */
  remove(id: number): Promise<void>;
  find(id: number): Promise<Query | undefined>;
  list(filter?: QueryFilter): Promise<readonly Query[]>;
}

/** What is recorded of a finished run. */
export interface Completion {
  readonly startedAt: Instant;
  readonly endedAt: Instant;
  readonly expiresAt: Instant;
  readonly resultSet: ResultSet;
}

export interface ExecutionFilter {
  readonly queryId?: number;
  readonly state?: ExecutionState | readonly ExecutionState[];
  /** Newest first; at most this many. */
  readonly limit: number;
}

/** Why only the service's own engine may start, fail or complete a run: nobody else knows how its query went. */
export const RUN_BY_ENGINE = ", since the service's own engine runs it; it can be cancelled";

/** The run is in a state from which this step is not allowed, or is not the caller's to take it, or does not exist. */
export class IllegalTransition extends Error {
  override readonly name: string = 'IllegalTransition';
  readonly from: ExecutionState | undefined;
  /** @param why goes on with the message, where it is not the state alone that forbids the step */
  constructor(id: string, from: ExecutionState | undefined, to: ExecutionState, why = '') {
    super(
      from === undefined
        ? `execution ${id} does not exist`
        : `execution ${id} is ${from}: it cannot become ${to}${why}`,
    );
    this.from = from;
  }
}

/** The lease that guarded a write is no longer held, so nothing was committed. */
export class LeaseLost extends Error {
  override readonly name: string = 'LeaseLost';
}

/** How the order is known of a run that is added when it has ended. */
export interface Submission {
  /** Of whoever adds it; it is read when the commit has its turn. */
  readonly clock: Clock;
  /** `findNewestPlace`, as it was when the run was submitted: what was there by then comes before it, whatever the clocks say. */
  readonly after?: Instant | undefined;
}

export interface Executions {
  /**
   * Adds a run that is PENDING.
   * @throws CatalogConflict when the id is taken or the query is unknown; QueryArchived
   */
  add(execution: Execution): Promise<void>;
  find(id: string): Promise<Execution | undefined>;
  /**
   * Newest first: by submission, ties by id. If a run of the same query seems to have been submitted later than now, one of the clocks is
   * wrong. A run that is added then comes after it, because the order of the commits is all that is known.
   */
  list(filter: ExecutionFilter): Promise<readonly Execution[]>;
  /**
   * The newest run, in the order of `list`, with a stored result not expired at `now`; when there is none, the newest run (contract §2).
   * With parameters: only runs that have each of these values. As if there were no runs with the ids in `except`.
   */
  findLatest(
    queryId: number,
    parameters: Readonly<Record<string, string>>,
    now: Instant,
    except?: readonly string[],
  ): Promise<Execution | undefined>;
  /**
   * The place of a pending run among its like, 1 for the one that is next: those that the service will run itself, or those
   * whose engine is elsewhere.
   */
  queuePosition(execution: Execution): Promise<number>;

  /** PENDING → EXECUTING. @throws IllegalTransition, also when it is in the queue of runs: a claim starts it */
  start(id: string, at: Instant): Promise<Execution>;
  /**
   * PENDING or EXECUTING → FAILED. A lease that is given is spent by it.
   * @throws IllegalTransition, also when it is in the queue of runs and no lease is given · LeaseLost
   */
  fail(id: string, error: ExecutionError, at: Instant, lease?: Lease): Promise<Execution>;
  /** PENDING or EXECUTING → CANCELLED. @throws IllegalTransition */
  cancel(id: string, at: Instant): Promise<Execution>;
  /**
   * EXECUTING → COMPLETED, or COMPLETED_PARTIAL when the result set is truncated: the commit that makes a result exist.
   * A PENDING run is started at `completion.startedAt` in the same step.
   * @throws IllegalTransition · LeaseLost when `lease` is not held any more.
   */
  complete(id: string, completion: Completion, lease: Lease): Promise<Execution>;
  /** Adds a run that is finished already: as `add` and `complete` in one step. */
  addCompleted(execution: Execution, completion: Completion, lease: Lease, submission: Submission): Promise<Execution>;
  /** What the newest run of the query is ordered by; undefined while there is none. */
  findNewestPlace(queryId: number): Promise<Instant | undefined>;

  findResultSet(executionId: string): Promise<ResultSet | undefined>;
  /** Runs whose result is stored and past its expiry at `now`, oldest expiry first. */
  listExpired(now: Instant, limit: number): Promise<readonly Execution[]>;
  /** A result expires at `at`, unless it expires before. Nothing happens where there is no result. */
  expireAt(id: string, at: Instant): Promise<void>;
  /** COMPLETED or COMPLETED_PARTIAL → EXPIRED, forgetting the manifest. @throws IllegalTransition */
  expire(id: string): Promise<void>;
  /** Whether a result set is committed for this id. */
  hasResultSet(id: string): Promise<boolean>;
  /** Every run with a stored result, in id order, `limit` at a time after `afterId`. */
  listStored(
    afterId: string,
    limit: number,
  ): Promise<readonly { readonly id: string; readonly resultSet: ResultSet }[]>;
}

export interface Ticks {
  /**
   * Claims one tick of a schedule. One caller gets true, all others false; a tick before the last one claimed is false too. If the last
   * one lies further ahead of the catalog's clock than clocks differ, a clock was wrong, and it counts as not claimed.
   */
  claim(schedule: string, tick: Instant): Promise<boolean>;
  /** The last tick claimed. */
  findLast(schedule: string): Promise<Instant | undefined>;
}

/** Answers to requests that may be sent twice, each under a name that its client chose. */
export interface IdempotencyKeys {
  /** The answer that the API key was given under the name, if that was later than `after`. */
  find(keyId: string, name: string, after: Instant): Promise<KeptAnswer | undefined>;
  /** Keeps it from now on, in the place of an older one, and ends the lease under which the request was carried out. @throws LeaseLost */
  keep(answer: NewKeptAnswer, lease: Lease): Promise<void>;
  /** Forgets the answers that were given then or earlier. */
  deleteUntil(instant: Instant): Promise<void>;
}

/** What was asked for, by whom, on which day. */
export interface Usage {
  /** Adds to what is counted, all or nothing; and nothing when this was the writer's last batch already. */
  add(uses: readonly Use[], batch?: UsageBatch): Promise<void>;
  /** Sums of what the filter lets through, one row for each combination of the parts, sorted by them. */
  sum(filter: UsageFilter, by: readonly UsagePart[]): Promise<readonly UsageSum[]>;
}
