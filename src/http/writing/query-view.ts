/** `GET /v1/query/{id}`: a query as its readers see it, with the field names that the hosted API's clients read (contract §8). */
import { formatInstant } from '../../domain/instant.ts';
import { actsFor, type Principal } from '../../domain/principal.ts';
import type { Query } from '../../domain/query.ts';

/** Texts that are not there are empty, since those clients take each field for granted; the SQL is its owner's alone. */
export function queryView(query: Query, principal: Principal): object {
  const isOwn = principal.scope === 'admin' || actsFor(principal, query.owner);
  return {
    query_id: query.id,
    name: query.name ?? '',
    description: query.description ?? '',
    tags: query.tags,
    version: query.version,
    owner: query.owner.name,
    parameters: query.parameters,
    query_engine: 'duckdb',
    ...(isOwn && { query_sql: query.sql ?? '' }),
    ...(query.schedule !== undefined && { schedule: query.schedule }),
    is_private: query.visibility === 'private',
    is_archived: query.isArchived,
    is_unsaved: false,
    created_at: formatInstant(query.createdAt),
    updated_at: formatInstant(query.updatedAt),
  };
}
