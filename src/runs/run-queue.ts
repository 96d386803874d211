/**
 * Submits runs of queries, and cancels them. A submitted run waits in the catalog until a process claims it (runner.ts). This
 * file decides what may be submitted, how much of it by one key, and what happens when two submit the same.
 */
import { createHash } from 'node:crypto';
import type { Catalog, Enqueued, NewRun, Runs, WaitingLimits } from '../catalog/catalog.ts';
import type { Execution } from '../domain/execution.ts';
import type { Clock, Instant } from '../domain/instant.ts';
import { ParameterError, type ParameterValue, parameterValues } from '../domain/parameter-values.ts';
import { archivedProblem, type Query, scheduleName } from '../domain/query.ts';
import { RequestError } from '../errors/errors.ts';

export interface RunQueueDeps {
  readonly catalog: Pick<Catalog, 'executions' | 'runs'>;
  readonly clock: Clock;
  readonly newExecutionId: (now: Instant) => string;
  readonly limits: WaitingLimits;
  /** A request equal to a run that waits or is being run gets that run. */
  readonly coalesce: boolean;
}

export interface RunRequest {
  readonly query: Pick<Query, 'id' | 'sql' | 'parameters' | 'isArchived'>;
  /** Values by name. Parameters that are left out get the query's own values. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Undefined when no key asked for the run. */
  readonly keyId?: string;
}

/** A run that is due by the query's own schedule. */
export interface ScheduledRequest {
  readonly query: RunRequest['query'] & Pick<Query, 'owner'>;
  readonly tick: Instant;
  /** Whether the limits on waiting runs hold. They do not for the curated datasets, which are few and wait once each. */
  readonly isLimited: boolean;
}

const NO_LIMITS: WaitingLimits = { waitingMax: Number.POSITIVE_INFINITY, waitingOfKeyMax: Number.POSITIVE_INFINITY };

export class RunQueue {
  readonly #deps: RunQueueDeps;
  readonly #listeners = new Set<(change: QueueChange) => void>();

  constructor(deps: RunQueueDeps) {
    this.#deps = deps;
  }

  /** @throws RequestError when the query cannot be run, a parameter's value does not fit, or too many runs wait */
  async submit(request: RunRequest): Promise<Execution> {
    const execution = await this.enqueue(request, this.#deps.catalog.runs);
    this.notify({ kind: 'submitted' });
    return execution;
  }

  /**
   * Submits a run that a schedule asks for, with the query's own values for its parameters. A query never overlaps itself: while the run
   * of an earlier tick waits, it stands for this tick too; while that run is being run, this tick has to wait. All schedules of
   * one owner count as one key, with the limits of one key.
   * @returns undefined when another process claimed the tick first, when the run of an earlier tick is being run, or when too many
   *   runs wait; in the last two cases the tick can still be claimed
   * @throws RequestError when the query cannot be run
   */
  async submitScheduled({ query, tick, isLimited }: ScheduledRequest): Promise<Execution | undefined> {
    const keyId = `schedule:${query.owner.kind}:${query.owner.name}`;
    const schedule = scheduleName(query);
    const run = { ...this.#newRun({ query, parameters: {}, keyId }), identity: schedule, tick: { schedule, at: tick } };
    const enqueued = await this.#deps.catalog.runs.enqueue(run, isLimited ? this.#deps.limits : NO_LIMITS);
    if (!('execution' in enqueued)) return undefined;
    this.notify({ kind: 'submitted' });
    return enqueued.execution;
  }

  /**
   * Submits a run of a scheduled query out of turn. While a run that the schedule asked for waits or is being run, returns that one.
   * @throws RequestError when the query cannot be run
   */
  async submitOutOfTurn(query: RunRequest['query']): Promise<Extract<Enqueued, { readonly execution: Execution }>> {
    const run = { ...this.#newRun({ query, parameters: {} }), identity: scheduleName(query) };
    const enqueued = await this.#deps.catalog.runs.enqueue(run, NO_LIMITS);
    if (!('execution' in enqueued)) throw new Error('a run without limits was refused');
    this.notify({ kind: 'submitted' });
    return enqueued;
  }

  /**
   * As `submit`, inside a larger transaction. The caller calls `notify` after the commit.
   * @throws RequestError as `submit` does
   */
  async enqueue(request: RunRequest, runs: Pick<Runs, 'enqueue'>): Promise<Execution> {
    const { limits } = this.#deps;
    const enqueued = await runs.enqueue(this.#newRun(request), limits);
    switch (enqueued.kind) {
      case 'too_many_of_key':
        throw new RequestError(
          'too_many_runs',
          `this key has ${limits.waitingOfKeyMax} runs waiting, and may have no more`,
        );
      case 'too_many':
        throw new RequestError('overloaded', `${limits.waitingMax} runs are waiting, and no more may; try again`);
      case 'tick_claimed':
      case 'running':
        throw new Error('a run that no schedule asked for has no tick');
      default:
        return enqueued.execution;
    }
  }

  #newRun({ query, parameters, keyId }: RunRequest): NewRun {
    const { clock, newExecutionId, coalesce } = this.#deps;
    const { id: queryId, sql } = query;
    if (query.isArchived) throw new RequestError('query_not_runnable', archivedProblem(query));
    if (sql === undefined) {
      const message = `query ${queryId} has no SQL: its results are published by whoever runs it`;
      throw new RequestError('query_not_runnable', message);
    }
    const values = readValues(query, parameters);
    const now = clock();
    return {
      execution: {
        id: newExecutionId(now),
        queryId,
        parameters: Object.fromEntries(values.map(({ key, value }) => [key, value])),
        state: 'PENDING',
        submittedAt: now,
      },
      sql,
      values,
      ...(keyId !== undefined && { keyId }),
      ...(coalesce && { identity: identityOfRun(queryId, sql, values) }),
    };
  }

  /** Ends a run that waits or is being run, in whatever process. @throws IllegalTransition */
  async cancel(executionId: string): Promise<Execution> {
    const cancelled = await this.#deps.catalog.executions.cancel(executionId, this.#deps.clock());
    this.notify({ kind: 'cancelled', executionId });
    return cancelled;
  }

  /** Calls `listener` for each change that this process makes. @returns stops the calls */
  listen(listener: (change: QueueChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Tells a runner in this process about a change that it would otherwise find at its next look. */
  notify(change: QueueChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}

/** A change that this process made. */
export type QueueChange = { readonly kind: 'submitted' } | { readonly kind: 'cancelled'; readonly executionId: string };

function readValues(query: RunRequest['query'], given: Readonly<Record<string, string>>): readonly ParameterValue[] {
  try {
    return parameterValues(query.parameters, given);
  } catch (error) {
    if (!(error instanceof ParameterError)) throw error;
    throw new RequestError('invalid_query_parameter', error.message);
  }
}

function identityOfRun(queryId: number, sql: string, values: readonly ParameterValue[]): string {
  const parts = [queryId, sql, values.map(({ key, type, value }) => [key, type, value])];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
