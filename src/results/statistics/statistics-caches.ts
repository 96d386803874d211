/** Where statistics of columns are kept. A result never changes, and so neither do they. */
import type { LruBytes } from '../cache/lru-bytes.ts';
import type { SingleFlight } from '../cache/single-flight.ts';

export interface StatisticsCaches {
  /** JSON, by execution and column. */
  readonly kept: LruBytes<string>;
  /** Those that are being made at this moment. */
  readonly reading: SingleFlight<string>;
}
