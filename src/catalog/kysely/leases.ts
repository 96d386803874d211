/**
 * Leases. A held lease is a row with the name (column `holder`) and the token of its owner; a free one has no row. A lease past its time
 * keeps its row until it is taken over.
 */
import type { Kysely, Transaction } from 'kysely';
import { CLOCKS_APART_MILLIS, type Instant, LEASE_MILLIS_MAX } from '../../domain/instant.ts';
import { type Lease, LeaseLost, type Leases } from '../catalog.ts';
import type { CatalogTables } from './tables.ts';
import { transact } from './transact.ts';

export class KyselyLeases implements Leases {
  readonly #db: Kysely<CatalogTables>;

  constructor(db: Kysely<CatalogTables>) {
    this.#db = db;
  }

  async acquire(resource: string, owner: string, now: Instant, durationMillis: number): Promise<Lease | undefined> {
    return await transact(
      this.#db,
      async (trx) => await acquireLease(trx, { resource, owner, now, millis: durationMillis }),
    );
  }

  async renew(lease: Lease, now: Instant, durationMillis: number): Promise<Lease | undefined> {
    const expiresAt = now + durationMillis;
    const renewed = await this.#db
      .updateTable('leases')
      .set({ expires_at: expiresAt })
      .where('resource', '=', lease.resource)
      .where('holder', '=', lease.owner)
      .where('token', '=', lease.token)
      .returning('token')
      .executeTakeFirst();
    return renewed === undefined ? undefined : { ...lease, expiresAt };
  }

  async release(lease: Lease): Promise<void> {
    await endLease(this.#db, lease);
  }

  async revoke(lease: Lease): Promise<boolean> {
    return await endLease(this.#db, lease);
  }

  async list(prefix: string): Promise<readonly Lease[]> {
    const rows = await this.#db
      .selectFrom('leases')
      .selectAll()
      .where((eb) => eb(eb.fn('substr', ['resource', eb.val(1), eb.val([...prefix].length)]), '=', prefix))
      .orderBy('resource')
      .execute();
    return rows.map((row) => ({
      resource: row.resource,
      owner: row.holder,
      token: row.token,
      expiresAt: row.expires_at,
    }));
  }
}

export interface LeaseRequest {
  readonly resource: string;
  readonly owner: string;
  readonly now: Instant;
  readonly millis: number;
}

/** The latest moment at which a lease that is held now can end. One that ends later was given by a wrong clock. */
export function latestEnd(now: Instant): Instant {
  return now + LEASE_MILLIS_MAX + CLOCKS_APART_MILLIS;
}

/** The lease; undefined while someone else holds it. */
export async function acquireLease(
  trx: Transaction<CatalogTables>,
  { resource, owner, now, millis }: LeaseRequest,
): Promise<Lease | undefined> {
  // Read first, so that nothing is written while somebody holds it.
  const held = await trx
    .selectFrom('leases')
    .select('token')
    .where('resource', '=', resource)
    .where('expires_at', '>', now)
    .where('expires_at', '<=', latestEnd(now))
    .executeTakeFirst();
  if (held !== undefined) return undefined;
  const { last: token } = await trx
    .updateTable('lease_tokens')
    .set((eb) => ({ last: eb('last', '+', 1) }))
    .returning('last')
    .executeTakeFirstOrThrow();
  const expiresAt = now + millis;
  const row = { resource, holder: owner, token, expires_at: expiresAt };
  // One statement decides, so whatever takes, renews or ends the lease at the same moment comes wholly before or after it.
  const taken = await trx
    .insertInto('leases')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .column('resource')
        .doUpdateSet(row)
        .where((eb) => eb.or([eb('leases.expires_at', '<=', now), eb('leases.expires_at', '>', latestEnd(now))])),
    )
    .returning('token')
    .executeTakeFirst();
  return taken === undefined ? undefined : { resource, owner, token, expiresAt };
}

/** Ends the lease as part of the write that it guards. @throws LeaseLost when it is not held any more. */
export async function spendLease(trx: Transaction<CatalogTables>, lease: Lease): Promise<void> {
  if (!(await endLease(trx, lease))) {
    throw new LeaseLost(`the lease on ${lease.resource} was lost: another process took it or ended it`);
  }
}

export async function endLease(db: Kysely<CatalogTables>, lease: Lease): Promise<boolean> {
  const ended = await db
    .deleteFrom('leases')
    .where('resource', '=', lease.resource)
    .where('holder', '=', lease.owner)
    .where('token', '=', lease.token)
    .returning('token')
    .executeTakeFirst();
  return ended !== undefined;
}
