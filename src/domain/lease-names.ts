/**
 * What leases are on: the names of their resources. Whoever takes a lease and whoever looks for it (a claim, the sweep, a gauge) find the
 * name here, so that both mean the same.
 */

/** How the names of each kind begin: to write an execution, to read one, to carry a request out that may be sent twice. */
export const LEASE_KINDS: Readonly<Record<'write' | 'read' | 'idempotency', string>> = {
  write: 'write:',
  read: 'read:',
  idempotency: 'idempotency:',
};

/** The right to write the objects of an execution. */
export function writeResource(executionId: string): string {
  return LEASE_KINDS.write + executionId;
}

/** The execution that the holder of a write lease writes. */
export function executionOfWriter({ resource }: { readonly resource: string }): string {
  return resource.slice(LEASE_KINDS.write.length);
}

/** What keeps the objects of an execution for its readers: how the names of all of them begin. */
export function readResources(executionId: string): string {
  return `${LEASE_KINDS.read}${executionId}:`;
}

/** The same for one of them. @param nonce which no other reader has */
export function readResource(executionId: string, nonce: string): string {
  return readResources(executionId) + nonce;
}

/** The right to carry out a request of an API key. @param nameHash of the name that its client gave the request */
export function idempotencyResource(keyId: string, nameHash: string): string {
  return `${LEASE_KINDS.idempotency}${keyId}:${nameHash}`;
}
