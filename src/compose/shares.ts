/** Making a share without a running service, for the command. */
import { type CreatedKey, createKey, type KeyTerms, type RandomBytes } from '../keys/create-key.ts';
import { parseColumnNames } from '../results/request/columns-parameter.ts';
import { checkShare } from '../results/shared/check-share.ts';
import { expressionLimitsOf } from './read-path.ts';
import type { Service } from './service.ts';

export interface NewShare {
  /** The query whose latest result is shared, or else the execution. */
  readonly of: { readonly queryId: number } | { readonly executionId: string };
  /** As in `?columns=`. */
  readonly columns?: string;
  readonly filters?: string;
  readonly expiresAt?: number;
}

/**
 * Makes a share that acts for the query's owner.
 * @throws Error in one line where there is no such query or execution, or it has no such columns
 */
export async function createShare(
  { of, columns, filters, expiresAt }: NewShare,
  service: Service,
  randomBytes: RandomBytes,
): Promise<CreatedKey> {
  const catalog = await service.catalog();
  const now = service.clock();
  const execution = 'executionId' in of ? await catalog.executions.find(of.executionId) : undefined;
  if ('executionId' in of && execution === undefined) throw new Error(`there is no execution ${of.executionId}`);
  const queryId = 'queryId' in of ? of.queryId : (execution?.queryId ?? 0);
  const query = await catalog.queries.find(queryId);
  if (query === undefined) throw new Error(`there is no query ${queryId}`);
  const names = columns === undefined ? undefined : parseColumnNames(columns);
  const share = { queryId, executionId: execution?.id, columns: names, filters };
  await checkShare(share, execution, catalog.executions, expressionLimitsOf(service.settings), now);
  const terms: KeyTerms = { share, ...(expiresAt !== undefined && { expiresAt }) };
  return await createKey(catalog.principals, query.owner, terms, now, randomBytes);
}
