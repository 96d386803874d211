/**
 * Rate limit tokens shared by several workers. The supervisor owns the buckets. A worker asks it for a share of a key's tokens
 * and hands these out without asking again. Tokens that are not used soon go back. So all workers together never allow more
 * than one process would, and less only for a moment.
 */
import type { Sleep } from '../domain/time.ts';
import type { Allowance } from '../domain/token-buckets.ts';
import type { TokenGrant } from './messages.ts';

export interface GrantedTokensOptions {
  readonly ask: (keyId: string) => Promise<TokenGrant>;
  readonly giveBack: (keyId: string, tokens: number) => void;
  readonly sleep: Sleep;
  /** Aborted when the worker stops. */
  readonly signal: AbortSignal;
}

interface Stock {
  tokens: number;
  /** The allowance that came with the tokens. */
  readonly left: Allowance;
}

/** A worker keeps tokens that nobody uses for this long. */
const KEPT_MILLIS = 250;

export class GrantedTokens {
  readonly #options: GrantedTokensOptions;
  readonly #stocks = new Map<string, Stock>();
  /** What the supervisor is being asked, by the id of the key. */
  readonly #asking = new Map<string, Promise<TokenGrant>>();
  #returning = false;

  constructor(options: GrantedTokensOptions) {
    this.#options = options;
  }

  /** Takes a token from this worker's stock; undefined when the stock is empty and the supervisor must be asked. */
  takeNow(keyId: string): Allowance | undefined {
    const stock = this.#stocks.get(keyId);
    if (stock === undefined || stock.tokens < 1) return undefined;
    stock.tokens -= 1;
    return { allowed: true, remaining: stock.left.remaining + stock.tokens, seconds: stock.left.seconds };
  }

  /**
   * Takes a token: from the stock, else from the supervisor. `allowed` is false when there is none. Requests that come together ask once: if each
   * asked for a share, the first would get all there is, and the last be refused while shares of the first are left.
   */
  async take(keyId: string): Promise<Allowance> {
    for (;;) {
      const atHand = this.takeNow(keyId);
      if (atHand !== undefined) return atHand;
      const { tokens, allowance } = await (this.#asking.get(keyId) ?? this.#ask(keyId));
      if (tokens === 0) return { ...allowance, allowed: false };
    }
  }

  #ask(keyId: string): Promise<TokenGrant> {
    const stocked = this.#options.ask(keyId).then((grant) => {
      if (grant.tokens === 0) return grant;
      this.#stocks.set(keyId, { tokens: grant.tokens, left: grant.allowance });
      void this.#returnUnused();
      return grant;
    });
    const asking = stocked.finally(() => this.#asking.delete(keyId));
    this.#asking.set(keyId, asking);
    return asking;
  }

  /** Gives unused tokens back, round after round, while the stock holds any. */
  async #returnUnused(): Promise<void> {
    if (this.#returning) return;
    this.#returning = true;
    const { sleep, signal, giveBack } = this.#options;
    while (this.#stocks.size > 0) {
      await sleep(KEPT_MILLIS, signal).catch(() => undefined);
      for (const [keyId, { tokens }] of this.#stocks) if (tokens > 0) giveBack(keyId, tokens);
      this.#stocks.clear();
    }
    this.#returning = false;
  }
}
