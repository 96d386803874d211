/** What was asked for is counted once. */
import type { WholeChange } from './committed-rows.ts';
import type { Violations } from './violations.ts';

const NOT_TWICE = 'Usage adds up: nothing is counted twice.';
const NOT_LOST = 'Usage adds up: only what a killed process had not written is lost.';

export class UsageInvariants {
  readonly #violations: Violations;
  /** Requests by key: answered, and in the catalog. */
  readonly #answered = new Map<string, number>();
  readonly #stored = new Map<string, number>();
  /** By key, what processes had not written when they were killed. */
  readonly #lost = new Map<string, number>();

  constructor(violations: Violations) {
    this.#violations = violations;
  }

  answered(keyId: string): void {
    add(this.#answered, keyId, 1);
  }

  take({ before, after }: WholeChange): void {
    const keyId = String(after?.key_id);
    add(this.#stored, keyId, Number(after?.requests ?? 0) - Number(before?.requests ?? 0));
    const [stored, answered] = [this.#stored.get(keyId) ?? 0, this.#answered.get(keyId) ?? 0];
    if (stored > answered)
      this.#violations.found(NOT_TWICE, `${keyId} was answered ${answered} times, and ${stored} are stored`);
  }

  /** @param requests by key, which a killed process had counted and, as far as it knew, not written */
  lost(requests: ReadonlyMap<string, number>): void {
    for (const [keyId, count] of requests) add(this.#lost, keyId, count);
  }

  inTheEnd(): void {
    for (const [keyId, answered] of this.#answered) {
      const least = answered - (this.#lost.get(keyId) ?? 0);
      const stored = this.#stored.get(keyId) ?? 0;
      if (stored < least)
        this.#violations.found(NOT_LOST, `${keyId}: at least ${least} of ${answered}, and ${stored} are stored`);
    }
  }
}

function add(sums: Map<string, number>, name: string, count: number): void {
  sums.set(name, (sums.get(name) ?? 0) + count);
}
