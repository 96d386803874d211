/** Whether what is to be shared can be shown: asked when a share is made, so that its address does not refuse its first reader. */
import { type Execution, formatState, STATES, stateAt } from '../../domain/execution.ts';
import type { Instant } from '../../domain/instant.ts';
import type { ResultSet } from '../../domain/result-set.ts';
import type { Share } from '../../domain/share.ts';
import { RequestError } from '../../errors/errors.ts';
import type { ExpressionLimits } from '../../expression/limits.ts';
import { restrictionOf } from './restriction.ts';

/** What is known of executions. */
interface Runs {
  findLatest(
    queryId: number,
    parameters: Readonly<Record<string, string>>,
    now: Instant,
  ): Promise<Execution | undefined>;
  findResultSet(id: string): Promise<ResultSet | undefined>;
}

/**
 * @param execution the one that is shared; undefined: the latest of the query
 * @throws RequestError no_result · unknown_column · filter_…
 */
export async function checkShare(
  share: Share,
  execution: Execution | undefined,
  executions: Runs,
  limits: ExpressionLimits,
  now: Instant,
): Promise<void> {
  const { queryId, columns, filters } = share;
  if (execution !== undefined) requireResult(execution, now);
  if (columns === undefined && filters === undefined) return;
  const run = execution ?? (await executions.findLatest(queryId, {}, now));
  const resultSet = run && (await executions.findResultSet(run.id));
  if (resultSet === undefined) {
    const what = execution === undefined ? `query ${queryId}` : `execution ${execution.id}`;
    const problem = `${what} has no stored result yet, so it is not known which columns there are: share it without columns and filters, or when it has one`;
    throw new RequestError('no_result', problem);
  }
  restrictionOf(share, resultSet.columns, limits);
}

/** @throws RequestError no_result where the execution will never have one */
function requireResult(execution: Execution, now: Instant): void {
  const state = stateAt(execution, now);
  if (STATES[state].hasResult || !STATES[state].terminal) return;
  const problem = `the state of execution ${execution.id} is ${formatState(state)}: it has no result to share`;
  throw new RequestError('no_result', problem, { body: { state: formatState(state) } });
}
