/** Asks through the proxy and tells an honest refusal, and a connection that broke, from an answer. */
import { type Answer, Client, Refused } from '../../soak/client.ts';

/** No answer came, or only a part of it, or one that the proxy made up. */
export class Broken extends Error {
  /** As `performance.now()`. */
  readonly startedAt: number;

  constructor(message: string, startedAt: number) {
    super(message);
    this.startedAt = startedAt;
  }
}

export class SmokeClient extends Client {
  /** @throws Refused for 429, 503 and 504 with a code · Broken */
  override async get(path: string, key: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const startedAt = performance.now();
    const answer = await this.#answer(path, key, headers, startedAt);
    // The service's own errors have a code; the proxy's have none.
    const isOfService = answer.headers['x-error-code'] !== undefined;
    if (answer.status >= 502 && answer.status <= 504 && !isOfService) {
      throw new Broken(`${path}: ${answer.status} of the proxy`, startedAt);
    }
    if (answer.status === 504) throw new Refused(answer);
    return answer;
  }

  async #answer(path: string, key: string, headers: Readonly<Record<string, string>>, at: number): Promise<Answer> {
    try {
      return await super.get(path, key, headers);
    } catch (error) {
      if (error instanceof Refused) {
        if (error.code !== undefined) throw error;
        throw new Broken(`${path}: ${error.status} of the proxy`, at);
      }
      throw new Broken(`${path}: ${error instanceof Error ? error.message : error}`, at);
    }
  }
}
