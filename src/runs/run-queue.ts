/**
 * Asking for a run of a query, and taking it back. A run waits in the catalog until a process claims it (runner.ts); here is
 * what may be asked for, by whom how much, and when two ask for the same.
 */
import { createHash } from 'node:crypto';
import type { Catalog, Runs, WaitingLimits } from '../catalog/catalog.ts';
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
   * As `submit`, as a part of a greater step: what listens is told by `notify` when that has been committed.
   * @throws RequestError as `submit` does
   */
  async enqueue({ query, parameters, keyId }: RunRequest, runs: Pick<Runs, 'enqueue'>): Promise<Execution> {
    const { clock, newExecutionId, limits, coalesce } = this.#deps;
    const { sql } = query;
    if (sql === undefined) {
      throw new RequestError(
        'query_not_runnable',
        `query ${query.id} has no SQL: its results are published by whoever runs it`,
      );
    }
    if (query.isArchived)
      throw new RequestError('query_not_runnable', `query ${query.id} is archived: it is served, not run`);
    const values = readValues(query, parameters);
    const now = clock();
    const execution: Execution = {
      id: newExecutionId(now),
      queryId: query.id,
      parameters: Object.fromEntries(values.map(({ key, value }) => [key, value])),
      state: 'PENDING',
      submittedAt: now,
    };
    const identity = coalesce ? { identity: identityOfRun(query.id, sql, values) } : {};
    const enqueued = await runs.enqueue(
      { execution, sql, values, ...(keyId !== undefined && { keyId }), ...identity },
      limits,
    );
    switch (enqueued.kind) {
      case 'too_many_of_key':
        throw new RequestError(
          'too_many_runs',
          `this key has ${limits.waitingOfKeyMax} runs waiting, and may have no more`,
        );
      case 'too_many':
        throw new RequestError('overloaded', `${limits.waitingMax} runs are waiting, and no more may; try again`);
      default:
        return enqueued.execution;
    }
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
