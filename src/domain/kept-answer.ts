/** The answer to a request that may be sent twice, kept under the name that its client chose (contract §9). */
import type { Instant } from './instant.ts';

export interface NewKeptAnswer {
  readonly keyId: string;
  readonly name: string;
  /** Stands for the whole request: another one under the same name is a mistake. */
  readonly fingerprint: string;
  readonly status: number;
  /** JSON. */
  readonly body: string;
}

export interface KeptAnswer extends NewKeptAnswer {
  readonly answeredAt: Instant;
}
