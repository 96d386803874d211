/** Making and ending shares (contract §11). Whoever may change a query may share it, or one of its executions. */
import type { Execution } from '../../domain/execution.ts';
import type { Principal } from '../../domain/principal.ts';
import type { Query } from '../../domain/query.ts';
import { RequestError } from '../../errors/errors.ts';
import type { ExpressionLimits } from '../../expression/limits.ts';
import type { CreateKey } from '../../keys/create-key.ts';
import { expiryRecord } from '../../keys/key-record.ts';
import { findReadableExecution } from '../../results/plan/readable.ts';
import { parseColumnNames } from '../../results/request/columns-parameter.ts';
import { checkShare } from '../../results/shared/check-share.ts';
import { readableQuery, requireOwn, writableQuery } from '../writing/authorize.ts';
import { bad, list, nullable, type ReadField, readFields, text } from '../writing/fields.ts';
import { LIFETIME_SECONDS } from '../writing/principal-writes.ts';
import { type JsonHandler, jsonWrite, type WriteDeps, type WriteRoute } from '../writing/write-request.ts';

export interface ShareWritesDeps extends WriteDeps {
  /** @throws CatalogConflict when the owner is unknown */
  readonly createKey: CreateKey;
  readonly expressionLimits: ExpressionLimits;
}

/** What the address of a route names. */
export type SharedBy = 'query' | 'execution';

export interface Named {
  readonly query: Query;
  /** Where the address names one. */
  readonly execution?: Execution;
}

const COLUMNS_MAX = 10_000;
const COLUMN_LENGTH_MAX = 1000;
const FILTERS_LENGTH_MAX = 100_000;

export function shareWrites(deps: ShareWritesDeps): readonly WriteRoute[] {
  return (['query', 'execution'] as const).flatMap((by) => [
    jsonWrite('POST', `/${by}/:id/share`, 'write', sharing(by, deps)),
    jsonWrite('DELETE', `/${by}/:id/share/:share`, 'write', ending(by, deps)),
  ]);
}

/** The address is only in the answer. What is kept under an idempotency key says which share was made, and never contains the token. */
function sharing(by: SharedBy, deps: ShareWritesDeps): JsonHandler {
  return async ({ principal, path, body, base, commit, stats }) => {
    const { catalog, clock, createKey } = deps;
    const { query, execution } = await namedBy(by, path.id ?? '', principal, deps);
    stats.queryId = query.id;
    stats.executionId = execution?.id;
    requireOwn(principal, query);
    const { expires_in, columns, filters } = readFields(await body(), FIELDS);
    const share = { queryId: query.id, executionId: execution?.id, columns, filters };
    await checkShare(share, execution, catalog.executions, deps.expressionLimits, clock());
    return await commit(async (transaction, current) => {
      const { owner } = await writableQuery(transaction, current, String(query.id));
      const now = clock();
      const expiresAt = expires_in === undefined ? undefined : now + expires_in * 1000;
      const terms = { share, ...(expiresAt !== undefined && { expiresAt }) };
      const { id, key } = await createKey(transaction.principals, owner, terms, now);
      const kept = { id, ...expiryRecord(expiresAt) };
      return { status: 201, body: { url: `${base()}/shared/${key}/results`, ...kept }, kept };
    });
  };
}

function ending(by: SharedBy, deps: ShareWritesDeps): JsonHandler {
  return async ({ principal, path, body, commit, stats }) => {
    const { id = '', share: shareId = '' } = path;
    const { query, execution } = await namedBy(by, id, principal, deps);
    stats.queryId = query.id;
    readFields(await body(), {});
    return await commit(async ({ principals, queries }, current) => {
      await writableQuery({ queries }, current, String(query.id));
      const shares = await principals.listShares(query.id);
      const isThere = shares.some(
        (stored) => stored.id === shareId && (execution === undefined || stored.share.executionId === execution.id),
      );
      if (isThere && (await principals.revokeKey(shareId, deps.clock()))) {
        return { status: 200, body: { success: true } };
      }
      throw new RequestError('share_not_found', `not found: ${by} ${id} has no share ${shareId} that has not ended`);
    });
  };
}

/** The query and the execution that the address names. @throws RequestError where the principal may not see them */
export async function namedBy(
  by: SharedBy,
  id: string,
  principal: Principal,
  { catalog: { executions, queries } }: Pick<WriteDeps, 'catalog'>,
): Promise<Named> {
  if (by === 'query') return { query: await readableQuery({ queries }, principal, id) };
  return await findReadableExecution(
    id,
    principal,
    (executionId) => executions.find(executionId),
    (queryId) => queries.find(queryId),
  );
}

const NAMES = list(text(1, COLUMN_LENGTH_MAX), COLUMNS_MAX);

/** A list of names, or a text as in `?columns=`. */
const COLUMNS: ReadField<readonly string[]> = (value, name) => {
  const names = typeof value === 'string' ? parseColumnNames(value) : NAMES(value, name);
  if (names.length > 0) return names;
  throw bad(name, value, 'at least one name');
};

const FIELDS = {
  expires_in: nullable(LIFETIME_SECONDS),
  columns: nullable(COLUMNS),
  filters: nullable(text(1, FILTERS_LENGTH_MAX)),
};
