/** What the read path is given when the service starts, room by room. Each room sees only its own part. */
import type { Execution } from '../domain/execution.ts';
import type { Clock } from '../domain/instant.ts';
import type { RunProgress } from '../domain/run-progress.ts';
import type { CatalogCache } from './cache/catalog-cache.ts';
import type { PageCaches } from './cache/finished-pages.ts';
import type { LruBytes } from './cache/lru-bytes.ts';
import type { PagesAhead } from './cache/pages-ahead.ts';
import type { SegmentIndex } from './cache/segment-index.ts';
import type { SingleFlight } from './cache/single-flight.ts';
import type { PlanLimits } from './plan/read-plan.ts';
import type { ReadDeps } from './read/open-page.ts';
import type { ParquetFiles } from './read/parquet-files.ts';
import type { AnswerSettings } from './respond/answer-identity.ts';
import type { FinishedAnswer, OpenedAnswer } from './respond/text.ts';
import type { StatisticsCaches } from './statistics/statistics-caches.ts';

export interface ResultsDeps {
  readonly clock: Clock;
  /** Milliseconds that only ever grow. */
  readonly monotonic: () => number;
  readonly catalogCache: CatalogCache;
  /** The place of a pending run among those of its kind. */
  readonly queuePosition: (execution: Execution) => Promise<number>;
  /** How far a run is that goes on, where its engine says. */
  readonly runProgress: (executionId: string) => Promise<RunProgress | undefined>;
  readonly settings: ResultsSettings;
  readonly caches: ResultsCaches;
  readonly statistics: StatisticsCaches;
  readonly read: ReadDeps;
  readonly parquet: ParquetFiles;
}

export interface ResultsSettings extends PlanLimits, AnswerSettings {
  /** Give truncated results to everybody, as COMPLETED: for clients that know neither the parameter nor the state. */
  readonly partialAsCompleted: boolean;
}

export interface ResultsCaches extends PageCaches {
  /** By identity. */
  readonly segmentIndexes: LruBytes<SegmentIndex>;
  /** Next pages of walks, by identity. */
  readonly ahead: PagesAhead<FinishedAnswer>;
  /** Pages that are being read at this moment, by identity. */
  readonly opening: SingleFlight<OpenedAnswer>;
}
