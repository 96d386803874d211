/** Where statistics of columns are kept. A result never changes, and so neither do they. */
import type { LruBytes } from '../cache/lru-bytes.ts';
import type { SingleFlight } from '../cache/single-flight.ts';
import type { StatisticsFiles } from '../derived/statistics-files.ts';

export interface StatisticsCaches {
  /** On disk, for longer than the process runs. */
  readonly files: Pick<StatisticsFiles, 'find' | 'keep'>;
  /** JSON, by execution and column. */
  readonly kept: LruBytes<string>;
  /** Those that are being made at this moment. */
  readonly reading: SingleFlight<string>;
}
