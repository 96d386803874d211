/** What keys may read. */
import type { Instant } from '../../src/domain/instant.ts';
import type { WholeChange } from './committed-rows.ts';
import type { Violations } from './violations.ts';

const REVOKED = 'A revoked key reads nothing after the staleness bound.';

export class KeyInvariants {
  readonly #violations: Violations;
  readonly #boundMillis: number;
  readonly #revokedAt = new Map<string, Instant>();

  constructor(violations: Violations, boundMillis: number) {
    this.#violations = violations;
    this.#boundMillis = boundMillis;
  }

  take({ before, after }: WholeChange, now: Instant): void {
    if (before?.revoked_at === null && after?.revoked_at !== null) this.#revokedAt.set(String(after?.id), now);
  }

  /** A request was let in. @param startedAt true time at which it came */
  used(keyId: string, startedAt: Instant): void {
    const revokedAt = this.#revokedAt.get(keyId) ?? Number.POSITIVE_INFINITY;
    if (startedAt <= revokedAt + this.#boundMillis) return;
    this.#violations.found(REVOKED, `${keyId} was let in ${startedAt - revokedAt} ms after it was revoked`);
  }
}
