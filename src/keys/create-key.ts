/** Making a key. Its text exists only now; what is stored is its hash. */
import type { Principals } from '../catalog/catalog.ts';
import type { Instant } from '../domain/instant.ts';
import { formatKey, formatKeyId, KEY_BYTES, KEY_ID_BYTES } from '../domain/key.ts';
import type { Owner } from '../domain/principal.ts';
import type { Scope } from '../domain/scope.ts';
import type { Share } from '../domain/share.ts';
import { hashKey } from './key-hash.ts';

/** So many bytes from a generator fit for secrets. */
export type RandomBytes = (length: number) => Uint8Array;

export interface KeyTerms {
  /** What the key is for. */
  readonly name?: string;
  readonly scope?: Scope;
  /** From then on it is nobody's; never, when left out. */
  readonly expiresAt?: Instant;
  /** It is the token of a share, and opens nothing else. */
  readonly share?: Share;
}

export interface CreatedKey {
  readonly id: string;
  /** The key itself. It is not stored, so it must be handed over now. */
  readonly key: string;
}

/** @throws CatalogConflict when the owner is unknown. */
export async function createKey(
  principals: Pick<Principals, 'addKey'>,
  owner: Owner,
  terms: KeyTerms,
  now: Instant,
  randomBytes: RandomBytes,
): Promise<CreatedKey> {
  const id = formatKeyId(randomBytes(KEY_ID_BYTES));
  const key = formatKey(randomBytes(KEY_BYTES), terms.share === undefined ? 'key' : 'share');
  await principals.addKey({ id, hash: hashKey(key), owner, createdAt: now, ...terms });
  return { id, key };
}

/** As `createKey`, with the generator chosen. */
export type CreateKey = (
  principals: Pick<Principals, 'addKey'>,
  owner: Owner,
  terms: KeyTerms,
  now: Instant,
) => Promise<CreatedKey>;
