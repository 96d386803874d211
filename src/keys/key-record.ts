/** A key as it is told in JSON: without the key itself and without its hash. */
import type { StoredKey, StoredShare } from '../catalog/catalog.ts';
import { formatInstant, type Instant } from '../domain/instant.ts';
import type { KeyTerms } from './create-key.ts';

export function keyRecord({ id, owner, revokedAt, ...key }: StoredKey): object {
  return {
    id,
    [owner.kind]: owner.name,
    ...termsRecord(key),
    ...timesRecord(key),
    ...(revokedAt !== undefined && { revoked_at: formatInstant(revokedAt) }),
  };
}

/** What is shared, and until when; without the token. */
export function shareRecord({ id, owner, share, expiresAt, revokedAt, ...times }: StoredShare): object {
  const { queryId, executionId, columns, filters } = share;
  return {
    id,
    [owner.kind]: owner.name,
    query_id: queryId,
    ...(executionId !== undefined && { execution_id: executionId }),
    ...(columns !== undefined && { columns }),
    ...(filters !== undefined && { filters }),
    ...expiryRecord(expiresAt),
    ...timesRecord(times),
    ...(revokedAt !== undefined && { ended_at: formatInstant(revokedAt) }),
  };
}

export function termsRecord({ name, scope, expiresAt }: KeyTerms): object {
  return { name, scope, ...expiryRecord(expiresAt) };
}

export function expiryRecord(expiresAt: Instant | undefined): object {
  return expiresAt === undefined ? {} : { expires_at: formatInstant(expiresAt) };
}

function timesRecord({ createdAt, lastUsedAt }: Pick<StoredKey, 'createdAt' | 'lastUsedAt'>): object {
  return {
    created_at: formatInstant(createdAt),
    ...(lastUsedAt !== undefined && { last_used_at: formatInstant(lastUsedAt) }),
  };
}
