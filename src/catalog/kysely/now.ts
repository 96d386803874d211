/**
 * The clock that leases, claims and ticks go by, as a part of statements: each database says what it is. In PostgreSQL it is the database's
 * own, so that the clocks of the hosts that share it do not matter.
 */
import { type Expression, sql } from 'kysely';

/** Milliseconds since 1970, as whoever carries out the statement sees them. */
export type Now = () => Expression<number>;

/** So many milliseconds later. */
export function after(instant: Expression<number>, millis: number): Expression<number> {
  return sql<number>`${instant} + ${sql.lit(Math.round(millis))}`;
}
