/**
 * Checks the SQL of a query that is added or changed. Each check is a process of the engine's own. So few run at a time, keys take turns, and a
 * check is ended when it takes too long or its client has gone.
 */
import type { QueryParameter } from '../../domain/query.ts';
import { type Sleep, TimeLimit } from '../../domain/time.ts';
import { RequestError } from '../../errors/errors.ts';
import { WorkQueue } from '../../results/limits/work-queue.ts';
import type { WriteRequest } from './write-request.ts';

/** Whether a query with this text and these parameters could be run. @throws RequestError invalid_query, with line and column */
export type CheckSql = (sql: string, parameters: readonly QueryParameter[], signal: AbortSignal) => Promise<void>;

const RUNNING_MAX = 2;
const WAITING_MAX = 16;
/** The SQL is only planned, not run: that takes a second, most of it for the start of the process. */
const MILLIS_MAX = 30_000;

export class QueryChecks {
  readonly #check: CheckSql;
  readonly #sleep: Sleep;
  readonly #turns = new WorkQueue({
    runningMax: RUNNING_MAX,
    waitingMax: WAITING_MAX,
    waits: 'queries are waiting for their SQL to be checked',
  });

  constructor(check: CheckSql, sleep: Sleep) {
    this.#check = check;
    this.#sleep = sleep;
  }

  /** @throws RequestError invalid_query · overloaded · read_timeout; the signal's reason once it is aborted */
  async check(
    sql: string,
    parameters: readonly QueryParameter[],
    { principal, signal }: Pick<WriteRequest, 'principal' | 'signal'>,
  ): Promise<void> {
    using _ = await this.#turns.enter(principal.keyId, signal);
    using limit = new TimeLimit(MILLIS_MAX, this.#sleep);
    try {
      await this.#check(sql, parameters, AbortSignal.any([signal, limit.signal]));
    } catch (error) {
      signal.throwIfAborted();
      if (error !== limit.signal.reason || !limit.signal.aborted) throw error;
      const message = `checking the SQL of the query exceeded its limit of ${MILLIS_MAX / 1000} s; make it simpler, or try again when less is going on`;
      throw new RequestError('read_timeout', message);
    }
  }
}
