/** What an id means to a principal (contract §2, §8): what it may not see is not there, and an execution is as visible as its query. */
import { type Execution, isExecutionId } from '../../domain/execution.ts';
import type { Principal } from '../../domain/principal.ts';
import { mayRead, type Query } from '../../domain/query.ts';
import { RequestError } from '../../errors/errors.ts';

type Access = Pick<Query, 'owner' | 'visibility'>;
type Find<Id, T> = (id: Id) => Promise<T | undefined>;

/** @throws RequestError invalid_query_id · query_not_found */
export async function findReadableQuery<Q extends Access>(
  id: string,
  principal: Principal,
  find: Find<number, Q>,
): Promise<Q> {
  if (!/^[0-9]+$/.test(id)) {
    throw new RequestError('invalid_query_id', `The requested query ID (ID: ${id}) is invalid.`);
  }
  // No query has an id that a double cannot hold exactly.
  const query = Number.isSafeInteger(Number(id)) ? await find(Number(id)) : undefined;
  if (query !== undefined && mayRead(principal, query)) return query;
  throw new RequestError('query_not_found', 'not found: Query not found or private');
}

/** @throws RequestError invalid_execution_id · execution_not_found */
export async function findReadableExecution<Q extends Access>(
  id: string,
  principal: Principal,
  find: Find<string, Execution>,
  findQuery: Find<number, Q>,
): Promise<{ readonly execution: Execution; readonly query: Q }> {
  if (!isExecutionId(id)) {
    throw new RequestError('invalid_execution_id', `The requested execution ID (ID: ${id}) is invalid.`);
  }
  const execution = await find(id.toUpperCase());
  const query = execution === undefined ? undefined : await findQuery(execution.queryId);
  if (execution !== undefined && query !== undefined && mayRead(principal, query)) return { execution, query };
  throw new RequestError('execution_not_found', `The requested execution ID (ID ${id}) was not found.`);
}
