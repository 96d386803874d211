/** Who may write or read what, and for how long. */
import type { Instant } from '../../src/domain/instant.ts';
import type { CommittedRows, WholeChange } from './committed-rows.ts';
import type { Violations } from './violations.ts';

const ONE_HOLDER = 'A lease has one holder: nobody takes it before its time is over.';
const GREATER_TOKEN = 'Every new holder of a lease has a greater token.';

/** Leases go by the catalog's clock, which shows whole milliseconds of true time. */
const ROUNDING_MILLIS = 1;

export class LeaseInvariants {
  readonly #violations: Violations;
  readonly #rows: CommittedRows;
  readonly #tokens = new Map<unknown, number>();

  constructor(violations: Violations, rows: CommittedRows) {
    this.#violations = violations;
    this.#rows = rows;
  }

  /** Whether somebody holds, by true time, a lease whose name begins so. */
  isHeld(prefix: string, holder: string, now: Instant): boolean {
    for (const row of this.#rows.of('leases').values()) {
      if (row.holder === holder && String(row.resource).startsWith(prefix)) return Number(row.expires_at) > now;
    }
    return false;
  }

  /** The token of the last holder. */
  lastToken(resource: string): number | undefined {
    return this.#tokens.get(resource);
  }

  take({ before, after }: WholeChange, now: Instant): void {
    if (after === undefined || before?.token === after.token) return;
    const { resource, token, holder } = after;
    if (before !== undefined && Number(before.expires_at) > now + ROUNDING_MILLIS) {
      const left = Number(before.expires_at) - now;
      const found = `${holder} took ${resource} (token ${token}) from ${before.holder} (token ${before.token}), ${left} ms too early`;
      this.#violations.found(ONE_HOLDER, found);
    }
    const last = this.#tokens.get(resource);
    if (last !== undefined && Number(token) <= last) {
      this.#violations.found(GREATER_TOKEN, `${resource} had the token ${last}, and now ${token}`);
    }
    this.#tokens.set(resource, Number(token));
  }
}
