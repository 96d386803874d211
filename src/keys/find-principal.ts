/** From a key to the principal it acts for: the first of the seven stages of a request. */
import type { Principals } from '../catalog/catalog.ts';
import { isKey } from '../domain/key.ts';
import type { Principal } from '../domain/principal.ts';
import { hashKey, sameHash } from './key-hash.ts';

/** Undefined for a key that is no key, unknown or revoked: nothing tells which. */
export async function findPrincipal(principals: Principals, key: string): Promise<Principal | undefined> {
  if (!isKey(key)) return undefined;
  const hash = hashKey(key);
  const found = await principals.findPrincipalByKeyHash(hash);
  // The index has compared the hashes already, in its own time; what it found is compared again in constant time.
  return found !== undefined && sameHash(found.hash, hash) ? found.principal : undefined;
}
