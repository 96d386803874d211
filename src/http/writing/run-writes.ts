/** Running queries over HTTP: runs of a stored query, and runs of SQL that belongs to no query (contract §10). */
import type { CatalogTransaction } from '../../catalog/catalog.ts';
import { type Execution, formatState } from '../../domain/execution.ts';
import type { Owner, Principal } from '../../domain/principal.ts';
import { type Query, UNLISTED_TAG } from '../../domain/query.ts';
import type { RunQueue, RunRequest } from '../../runs/run-queue.ts';
import { writableQuery } from './authorize.ts';
import { type ReadField, readFields, required, text } from './fields.ts';
import { PARAMETERS } from './query-parameters.ts';
import { SQL_LENGTH_MAX } from './query-writes.ts';
import {
  type Commit,
  type JsonHandler,
  jsonWrite,
  type WriteAnswer,
  type WriteDeps,
  type WriteRoute,
} from './write-request.ts';

export interface RunWritesDeps extends WriteDeps {
  readonly runQueue: Pick<RunQueue, 'enqueue' | 'notify'>;
  /** Whether keys may run SQL that belongs to no query. */
  readonly runsAnySql: boolean;
  /** Ids from here on are reserved: a query that is added never gets one. */
  readonly reservedIdsFrom: number;
}

export function runWrites(deps: RunWritesDeps): readonly WriteRoute[] {
  const ofQuery = jsonWrite('POST', '/query/:id/execute', 'write', executing(deps));
  return deps.runsAnySql ? [ofQuery, jsonWrite('POST', '/sql/execute', 'write', executingSql(deps))] : [ofQuery];
}

/** The hosted API's clients choose how large an engine runs the query. Here all runs have the same. */
const PERFORMANCE: ReadField<string> = text(0, 100);

/** Clients without parameters send an empty list. */
const RUN_PARAMETERS: typeof PARAMETERS = (value, name) =>
  Array.isArray(value) && value.length === 0 ? {} : PARAMETERS(value, name);

function executing(deps: RunWritesDeps): JsonHandler {
  return async ({ principal, path, body, stats, commit }) => {
    const { id = '' } = path;
    const query = await writableQuery(deps.catalog, principal, id);
    stats.queryId = query.id;
    const fields = readFields(await body(), { query_parameters: RUN_PARAMETERS, performance: PERFORMANCE });
    const parameters = fields.query_parameters ?? {};
    return await submit(deps, commit, async (transaction, current) => ({
      // Read again in this transaction: the query may have been changed or given away in the meantime.
      query: await writableQuery(transaction, current, id),
      parameters,
      keyId: principal.keyId,
    }));
  };
}

function executingSql(deps: RunWritesDeps): JsonHandler {
  return async ({ body, stats, commit }) => {
    const fields = readFields(await body(), { sql: text(1, SQL_LENGTH_MAX), performance: PERFORMANCE });
    const sql = required(fields.sql, 'sql');
    return await submit(deps, commit, async ({ queries }, principal) => {
      const query = await anySqlQuery(deps, queries, principal.owner);
      stats.queryId = query.id;
      return { query: { ...query, sql, parameters: [] }, parameters: {}, keyId: principal.keyId };
    });
  };
}

/**
 * Every run belongs to a query and keeps the SQL that it ran. So one private query for each owner holds all of the owner's runs
 * of any SQL.
 */
async function anySqlQuery(
  { clock, reservedIdsFrom }: RunWritesDeps,
  queries: CatalogTransaction['queries'],
  owner: Owner,
): Promise<Query> {
  const tagged = await queries.list({ owner, tag: UNLISTED_TAG });
  const found = tagged.find(({ visibility }) => visibility === 'private');
  if (found !== undefined) return found;
  const name = 'SQL without a query';
  return await queries.addWithNextId(
    { name, owner, visibility: 'private', tags: [UNLISTED_TAG] },
    clock(),
    reservedIdsFrom,
  );
}

async function submit(
  { runQueue }: RunWritesDeps,
  commit: Commit,
  requestOf: (transaction: CatalogTransaction, principal: Principal) => Promise<RunRequest>,
): Promise<WriteAnswer> {
  const answer = await commit(async (transaction, principal) => {
    const execution = await runQueue.enqueue(await requestOf(transaction, principal), transaction.runs);
    return { status: 200, body: bodyOf(execution) };
  });
  runQueue.notify({ kind: 'submitted' });
  return answer;
}

function bodyOf({ id, state }: Execution): object {
  return { execution_id: id, state: formatState(state) };
}
