/** The JSON of a query for its readers, with the field names that the hosted API's clients read (contract §8). */
import { formatInstant } from '../../domain/instant.ts';
import { actsFor, type Principal } from '../../domain/principal.ts';
import type { Query } from '../../domain/query.ts';

/**
 * A missing text is sent as '', since the hosted API's clients expect every field. Only the owner sees the SQL.
 * @param engine what would run it
 */
export function queryView(query: Query, principal: Principal, engine: string) {
  const isOwn = principal.scope === 'admin' || actsFor(principal, query.owner);
  return {
    query_id: query.id,
    name: query.name ?? '',
    description: query.description ?? '',
    tags: query.tags,
    version: query.version,
    owner: query.owner.name,
    parameters: query.parameters,
    query_engine: engine,
    ...(isOwn && { query_sql: query.sql ?? '' }),
    ...(query.schedule !== undefined && { schedule: query.schedule }),
    is_private: query.visibility === 'private',
    is_archived: query.isArchived,
    is_unsaved: false,
    created_at: formatInstant(query.createdAt),
    updated_at: formatInstant(query.updatedAt),
  };
}
