/**
 * Asking for a run of a query, and taking it back. A run waits in the catalog until a process claims it (runner.ts); here is
 * what may be asked for, by whom how much, and when two ask for the same.
 */
import { createHash } from 'node:crypto';
import type { Catalog, NewRun, Runs, WaitingLimits } from '../catalog/catalog.ts';
import type { Execution } from '../domain/execution.ts';
import type { Clock, Instant } from '../domain/instant.ts';
import { ParameterError, type ParameterValue, parameterValues } from '../domain/parameter-values.ts';
import type { Query } from '../domain/query.ts';
import { RequestError } from '../errors/errors.ts';

export interface RunQueueDeps {
  readonly catalog: Pick<Catalog, 'executions' | 'runs'>;
  readonly clock: Clock;
  readonly newExecutionId: (now: Instant) => string;
  readonly limits: WaitingLimits;
  /** Whether who asks for what waits or runs already gets that run. */
  readonly coalesce: boolean;
}

export interface RunRequest {
  readonly query: Pick<Query, 'id' | 'sql' | 'parameters' | 'isArchived'>;
  /** By name; the query says what holds for the others. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Undefined for what no key asked for. */
  readonly keyId?: string;
}

/** A query that is run at times of its own. */
export interface ScheduledRequest {
  readonly query: RunRequest['query'] & Pick<Query, 'owner'>;
  readonly tick: { readonly schedule: string; readonly at: Instant };
}

export class RunQueue {
  readonly #deps: RunQueueDeps;
  readonly #listeners = new Set<(change: QueueChange) => void>();

  constructor(deps: RunQueueDeps) {
    this.#deps = deps;
  }

  /** @throws RequestError when the query cannot be run, or not so, or too much waits. */
  async submit(request: RunRequest): Promise<Execution> {
    const execution = await this.enqueue(request, this.#deps.catalog.runs);
    this.notify({ kind: 'submitted' });
    return execution;
  }

  /**
   * A run that a schedule asks for, with the values that the query has for its parameters. While the one before still waits or runs, it
   * is that one: no query overlaps itself. It counts as asked for by the owner's schedules, which have the limits of one key together.
   * @returns undefined when another process was first, or when too much waits: the tick is then still to be claimed
   * @throws RequestError when the query cannot be run
   */
  async submitScheduled({ query, tick }: ScheduledRequest): Promise<Execution | undefined> {
    const { catalog, limits } = this.#deps;
    const keyId = `schedule:${query.owner.kind}:${query.owner.name}`;
    const run = { ...this.#newRun({ query, parameters: {}, keyId }), identity: tick.schedule, tick };
    const enqueued = await catalog.runs.enqueue(run, limits);
    if (!('execution' in enqueued)) return undefined;
    this.notify({ kind: 'submitted' });
    return enqueued.execution;
  }

  /**
   * As `submit`, as a part of a greater step: what listens is told by `notify` when that has been committed.
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
        throw new Error('a run that no schedule asked for has no tick');
      default:
        return enqueued.execution;
    }
  }

  #newRun({ query, parameters, keyId }: RunRequest): NewRun {
    const { clock, newExecutionId, coalesce } = this.#deps;
    const { id: queryId, sql } = query;
    if (sql === undefined) {
      const message = `query ${queryId} has no SQL: its results are published by whoever runs it`;
      throw new RequestError('query_not_runnable', message);
    }
    if (query.isArchived) {
      throw new RequestError('query_not_runnable', `query ${queryId} is archived: it is served, not run`);
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

  /** Ends a run that waits or runs, wherever that is. @throws IllegalTransition */
  async cancel(executionId: string): Promise<Execution> {
    const cancelled = await this.#deps.catalog.executions.cancel(executionId, this.#deps.clock());
    this.notify({ kind: 'cancelled', executionId });
    return cancelled;
  }

  /** Calls `listener` for each change of this process's own making, until it is told to stop. */
  listen(listener: (change: QueueChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Tells a runner of this process what it would else find at its next look. */
  notify(change: QueueChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}

/** What a runner in the same process need not find by looking. */
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
