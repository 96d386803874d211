/** From a key to the principal it acts for: the first of the seven stages of a request. */
import type { Principals } from '../catalog/catalog.ts';
import { isKey, isShareToken } from '../domain/key.ts';
import type { Principal } from '../domain/principal.ts';
import { hashKey, sameHash } from './key-hash.ts';

/** Undefined if the key, or the token of a share, is malformed, unknown or revoked. The caller cannot tell which. */
export async function findPrincipal(principals: Principals, key: string): Promise<Principal | undefined> {
  if (!isKey(key) && !isShareToken(key)) return undefined;
  const hash = hashKey(key);
  const found = await principals.findPrincipalByKeyHash(hash);
  // The catalog's index has compared the hashes, but its time depends on them. They are compared again in constant time.
  return found !== undefined && sameHash(found.hash, hash) ? found.principal : undefined;
}
