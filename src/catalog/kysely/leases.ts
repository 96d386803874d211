/**
 * Leases. A held lease is a row with the name (column `holder`) and the token of its owner; a free one has no row. A lease past its time
 * keeps its row until it is taken over.
 */
import { type Expression, type Kysely, type SqlBool, sql, type Transaction } from 'kysely';
import { CLOCKS_APART_MILLIS, LEASE_MILLIS_MAX } from '../../domain/instant.ts';
import type { RunProgress } from '../../domain/run-progress.ts';
import { type Lease, LeaseLost, type Leases } from '../catalog.ts';
import { after, type Now } from './now.ts';
import type { CatalogTables, LeaseProgress } from './tables.ts';
import { transact } from './transact.ts';

export class KyselyLeases implements Leases {
  readonly #db: Kysely<CatalogTables>;
  readonly #now: Now;

  constructor(db: Kysely<CatalogTables>, now: Now) {
    this.#db = db;
    this.#now = now;
  }

  async acquire(resource: string, owner: string, durationMillis: number): Promise<Lease | undefined> {
    const request = { resource, owner, millis: durationMillis };
    return await transact(this.#db, async (trx) => await acquireLease(trx, request, this.#now));
  }

  async renew(lease: Lease, durationMillis: number, progress?: RunProgress): Promise<Lease | undefined> {
    const told: LeaseProgress | undefined = progress && { token: lease.token, progress };
    const renewed = await this.#db
      .updateTable('leases')
      .set({
        expires_at: after(this.#now(), durationMillis),
        ...(told !== undefined && { progress: JSON.stringify(told) }),
      })
      .where('resource', '=', lease.resource)
      .where('holder', '=', lease.owner)
      .where('token', '=', lease.token)
      .returning('expires_at')
      .executeTakeFirst();
    return renewed === undefined ? undefined : { ...lease, expiresAt: renewed.expires_at };
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
  readonly millis: number;
}

/** Whether a lease with this end is held: one that seems to end later than any can was given by a clock that was wrong. */
export function isHeld(expiresAt: Expression<number>, now: Expression<number>): Expression<SqlBool> {
  return sql<SqlBool>`(${expiresAt} > ${now} and ${expiresAt} <= ${after(now, LEASE_MILLIS_MAX + CLOCKS_APART_MILLIS)})`;
}

/** The lease; undefined while someone else holds it. */
export async function acquireLease(
  trx: Transaction<CatalogTables>,
  { resource, owner, millis }: LeaseRequest,
  now: Now,
): Promise<Lease | undefined> {
  // Read first, so that nothing is written while somebody holds it.
  const held = await trx
    .selectFrom('leases')
    .select('token')
    .where('resource', '=', resource)
    .where((eb) => isHeld(eb.ref('expires_at'), now()))
    .executeTakeFirst();
  if (held !== undefined) return undefined;
  const at = now();
  // Not only the next number: a catalog that was restored from a backup would give those of after the backup again, and objects bear them.
  const { last: token } = await trx
    .updateTable('lease_tokens')
    .set((eb) => ({
      last: eb
        .case()
        .when('last', '<', at)
        .then(at)
        .else(eb('last', '+', 1))
        .end(),
    }))
    .returning('last')
    .executeTakeFirstOrThrow();
  const row = { resource, holder: owner, token, expires_at: after(at, millis) };
  // One statement decides: whoever asks, renews or ends it at the same moment is before it or after it.
  const taken = await trx
    .insertInto('leases')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .column('resource')
        .doUpdateSet(row)
        .where((eb) => eb.not(isHeld(eb.ref('leases.expires_at'), at))),
    )
    .returning('expires_at')
    .executeTakeFirst();
  return taken === undefined ? undefined : { resource, owner, token, expiresAt: taken.expires_at };
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
