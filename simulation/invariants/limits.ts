/** Limits that hold for all replicas together: each applies its part, by what it knows of the others (decision 34). */

import type { Instant } from '../../src/domain/instant.ts';
import { LIVE_MILLIS } from '../../src/domain/replica.ts';
import type { CommittedRows } from './committed-rows.ts';
import type { Violations } from './violations.ts';

const KNOWN = 'A replica divides limits by all that it could know of.';
const WITHIN = 'Once replicas know of each other, all together allow what a limit says.';

/** A limit of so many requests a second, and so many at once. */
export const LIMIT = { perSecond: 3, burst: 12 } as const;
/** The part of a limit that is allowed at least, where all replicas are asked for more than theirs. */
const LEAST = 0.9;

export class LimitInvariants {
  readonly #violations: Violations;
  readonly #rows: CommittedRows;
  #since: Instant | undefined;
  #allowed = 0;

  constructor(violations: Violations, rows: CommittedRows) {
    this.#violations = violations;
    this.#rows = rows;
  }

  /** When each of the replicas was last seen, of those that were seen lately, as far as it is committed. */
  live(now: Instant): ReadonlyMap<string, Instant> {
    const seen = [...this.#rows.of('replicas').values()].map((row) => [String(row.id), Number(row.last_seen)] as const);
    return new Map(seen.filter(([, at]) => at > now - LIVE_MILLIS));
  }

  /**
   * A replica has looked who else runs.
   * @param before `live` when it began to look; who lives by that alone to the end must have been found
   */
  looked(id: string, count: number, before: ReadonlyMap<string, Instant>, now: Instant): void {
    const lived = [...before].filter(([, at]) => at > now - LIVE_MILLIS).map(([other]) => other);
    const atEnd = this.live(now);
    const known = new Set(lived.filter((other) => atEnd.has(other))).add(id);
    if (count < known.size) this.#violations.found(KNOWN, `${id} divides by ${count}, and ${[...known]} run`);
  }

  /** From now on all replicas are asked for more than the limit. */
  begin(now: Instant): void {
    this.#since = now;
  }

  allowed(now: Instant): void {
    if (this.#since === undefined) return;
    this.#allowed += 1;
    const most = LIMIT.burst + (LIMIT.perSecond * (now - this.#since)) / 1000;
    if (this.#allowed > most) this.#violations.found(WITHIN, `${this.#allowed} in place of ${most}`);
  }

  end(now: Instant): void {
    if (this.#since === undefined) return;
    const least = (LEAST * LIMIT.perSecond * (now - this.#since)) / 1000;
    if (this.#allowed < least) this.#violations.found(WITHIN, `only ${this.#allowed} in place of ${least}`);
  }
}
