/** Requests that their clients send again because they heard nothing. */
import type { WholeChange } from './committed-rows.ts';
import type { Violations } from './violations.ts';

const ONCE = 'A request under an idempotency key is carried out once.';

/** Batches of usage are kept among the requests (src/catalog/kysely/usage.ts), and each takes the place of the last. */
const BATCHES = 'usage';

export class RequestInvariants {
  readonly #violations: Violations;
  /** By the name of the request. */
  readonly #answers = new Map<string, string>();

  constructor(violations: Violations) {
    this.#violations = violations;
  }

  take({ before, after }: WholeChange): void {
    if (before === undefined || after === undefined || after.key_id === BATCHES) return;
    this.#violations.found(ONCE, `${after.name} was answered ${before.body}, and then ${after.body}`);
  }

  answered(name: string, body: string): void {
    const first = this.#answers.get(name) ?? body;
    this.#answers.set(name, first);
    if (first !== body) this.#violations.found(ONCE, `${name} was answered ${first}, and then ${body}`);
  }
}
