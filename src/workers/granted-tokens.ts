/**
 * The tokens of a rate limit that holds over several workers. The buckets are the supervisor's; a worker asks for a share of a
 * key's tokens and hands them out without asking again. What it has not used after a moment goes back, so that all workers together
 * allow neither more nor, by more than a moment, less than one would.
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
  /** As it was told with them. */
  readonly left: Allowance;
}

/** So long a worker keeps tokens that nobody asks it for. */
const KEPT_MILLIS = 250;

export class GrantedTokens {
  readonly #options: GrantedTokensOptions;
  readonly #stocks = new Map<string, Stock>();
  #returning = false;

  constructor(options: GrantedTokensOptions) {
    this.#options = options;
  }

  /** Takes a token that is at hand; undefined when there is none and the supervisor must be asked. */
  takeNow(keyId: string): Allowance | undefined {
    const stock = this.#stocks.get(keyId);
    if (stock === undefined || stock.tokens < 1) return undefined;
    stock.tokens -= 1;
    return { allowed: true, remaining: stock.left.remaining + stock.tokens, seconds: stock.left.seconds };
  }

  /** Takes a token, where there is one. */
  async take(keyId: string): Promise<Allowance> {
    const atHand = this.takeNow(keyId);
    if (atHand !== undefined) return atHand;
    const { tokens, allowance } = await this.#options.ask(keyId);
    if (tokens === 0) return { ...allowance, allowed: false };
    // Another request may have asked meanwhile.
    const others = this.#stocks.get(keyId)?.tokens ?? 0;
    this.#stocks.set(keyId, { tokens: others + tokens, left: allowance });
    void this.#returnUnused();
    return this.takeNow(keyId) ?? { ...allowance, allowed: false };
  }

  /** One round after the other while there are tokens at hand. */
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
