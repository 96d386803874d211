/** A key as it is told in JSON: without the key itself and without its hash. */
import type { StoredKey } from '../catalog/catalog.ts';
import { formatInstant } from '../domain/instant.ts';
import type { KeyTerms } from './create-key.ts';

export function keyRecord({ id, owner, createdAt, lastUsedAt, revokedAt, ...terms }: StoredKey): object {
  return {
    id,
    [owner.kind]: owner.name,
    ...termsRecord(terms),
    created_at: formatInstant(createdAt),
    ...(lastUsedAt !== undefined && { last_used_at: formatInstant(lastUsedAt) }),
    ...(revokedAt !== undefined && { revoked_at: formatInstant(revokedAt) }),
  };
}

export function termsRecord({ name, scope, expiresAt }: KeyTerms): object {
  return { name, scope, ...(expiresAt !== undefined && { expires_at: formatInstant(expiresAt) }) };
}
