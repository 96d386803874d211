/**
 * What a key may change (contract §8). A key without the needed scope is refused before anything is looked up, so the refusal
 * reveals nothing. A query that the key may not see is reported as not found; one that it may only read, as forbidden.
 */
import type { CatalogTransaction } from '../../catalog/catalog.ts';
import { type Execution, formatState, stateAt } from '../../domain/execution.ts';
import { type Instant, isExpired } from '../../domain/instant.ts';
import type { Principal } from '../../domain/principal.ts';
import { mayWrite, type Query } from '../../domain/query.ts';
import { includesScope, type Scope } from '../../domain/scope.ts';
import { RequestError } from '../../errors/errors.ts';
import { findReadableExecution, findReadableQuery } from '../../results/plan/readable.ts';

/** @throws RequestError scope */
export function requireScope({ scope }: Principal, needed: Scope): void {
  if (includesScope(scope, needed)) return;
  throw new RequestError('scope', scope === 'read' ? 'this API key may only read' : 'this API key may not administer');
}

/** The principal as it is now. A long request may outlive its key. @throws RequestError invalid_api_key */
export async function currentPrincipal(
  { principals }: Pick<CatalogTransaction, 'principals'>,
  keyId: string,
  now: Instant,
): Promise<Principal> {
  const principal = await principals.findPrincipalByKeyId(keyId);
  if (principal !== undefined && !isExpired(principal.expiresAt, now)) return principal;
  throw new RequestError('invalid_api_key', 'invalid API Key');
}

/** @throws RequestError invalid_query_id · query_not_found */
export async function readableQuery(
  { queries }: Pick<CatalogTransaction, 'queries'>,
  principal: Principal,
  id: string,
): Promise<Query> {
  return await findReadableQuery(id, principal, (queryId) => queries.find(queryId));
}

/** @throws RequestError invalid_query_id · query_not_found · scope */
export async function writableQuery(
  transaction: Pick<CatalogTransaction, 'queries'>,
  principal: Principal,
  id: string,
): Promise<Query> {
  const query = await readableQuery(transaction, principal, id);
  requireOwn(principal, query);
  return query;
}

/**
 * An execution is as visible as its query. One whose result has expired stays as it is, swept or not.
 * @throws RequestError invalid_execution_id · execution_not_found · scope · illegal_transition
 */
export async function writableExecution(
  { executions, queries }: Pick<CatalogTransaction, 'executions' | 'queries'>,
  principal: Principal,
  id: string,
  now: Instant,
): Promise<Execution> {
  const { execution, query } = await findReadableExecution(
    id,
    principal,
    (executionId) => executions.find(executionId),
    (queryId) => queries.find(queryId),
  );
  requireOwn(principal, query);
  if (stateAt(execution, now) === 'EXPIRED') {
    const message = `execution ${execution.id} is EXPIRED: its result is no longer kept, and it cannot become anything else`;
    throw new RequestError('illegal_transition', message, { body: { state: formatState('EXPIRED') } });
  }
  return execution;
}

/** Of a query that the principal may see. @throws RequestError scope */
export function requireOwn(principal: Principal, query: Query): void {
  if (mayWrite(principal, query)) return;
  throw new RequestError('scope', 'this API key may only read this query: it belongs to another user or team');
}
