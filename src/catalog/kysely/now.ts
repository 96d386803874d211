/**
 * The clock that leases, claims and ticks go by, as a part of statements: each database says what it is. In PostgreSQL it is the database's
 * own, so that the clocks of the hosts that share it do not matter.
 */
import { type Expression, type Kysely, sql } from 'kysely';
import type { Instant } from '../../domain/instant.ts';
import type { CatalogTables } from './tables.ts';

/** Milliseconds since 1970, as whoever carries out the statement sees them. */
export type Now = () => Expression<number>;

export async function readNow(db: Kysely<CatalogTables>, now: Now): Promise<Instant> {
  const { rows } = await sql<{ now: Instant }>`select ${now()} as now`.execute(db);
  return Number(rows[0]?.now);
}

/** So many milliseconds later. */
export function after(instant: Expression<number>, millis: number): Expression<number> {
  return sql<number>`${instant} + ${sql.lit(Math.round(millis))}`;
}
