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

  /** Takes a token: from the stock, else from the supervisor. `allowed` is false when there is none. */
  async take(keyId: string): Promise<Allowance> {
    const atHand = this.takeNow(keyId);
    if (atHand !== undefined) return atHand;
    const { tokens, allowance } = await this.#options.ask(keyId);
    if (tokens === 0) return { ...allowance, allowed: false };
    // Another request may have added tokens during the `await`.
    const others = this.#stocks.get(keyId)?.tokens ?? 0;
    this.#stocks.set(keyId, { tokens: others + tokens, left: allowance });
    void this.#returnUnused();
    return this.takeNow(keyId) ?? { ...allowance, allowed: false };
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
