/** How fresh a dataset is: for `qrs datasets list`, and how long a client may keep an answer. */
import type { Executions } from '../catalog/catalog.ts';
import { lastTick, nextTick, parseCron } from '../domain/cron.ts';
import { type Execution, type ExecutionState, STATES, stateAt } from '../domain/execution.ts';
import type { Clock, Instant } from '../domain/instant.ts';
import type { StaleDataset } from '../domain/webhook.ts';
import type { Dataset } from './dataset.ts';

export interface DatasetAge {
  /** The newest run, whatever came of it. */
  readonly latest: Execution | undefined;
  /** Now: a result may have expired since. */
  readonly latestState: ExecutionState | undefined;
  /** The run that the address answers with, when it has a result. */
  readonly served: Execution | undefined;
  /** The address answers that its result has expired. */
  readonly hasExpired: boolean;
  /** Time since the served run started, which is what it describes; 0 where a wrong clock says that it has not started yet. */
  readonly ageMillis: number | undefined;
  readonly nextTick: Instant;
}

export async function datasetAgeOf(
  dataset: Dataset,
  { executions }: { readonly executions: Pick<Executions, 'list' | 'findLatest'> },
  now: Instant,
): Promise<DatasetAge> {
  const [latest] = await executions.list({ queryId: dataset.queryId, limit: 1 });
  const found = await executions.findLatest(dataset.queryId, {}, now);
  const state = found && stateAt(found, now);
  const served = state !== undefined && STATES[state].hasResult ? found : undefined;
  const ageMillis = served?.startedAt === undefined ? undefined : Math.max(0, now - served.startedAt);
  return {
    latest,
    latestState: latest && stateAt(latest, now),
    served,
    hasExpired: state === 'EXPIRED',
    ageMillis,
    nextTick: nextTick(parseCron(dataset.schedule), now),
  };
}

/**
 * How old a dataset may get by its schedule, milliseconds: right before a refresh the time since the one before. Refreshes need not be
 * evenly apart (on weekdays only), so both times around the last one due count.
 */
export function periodMillisOf({ schedule }: Pick<Dataset, 'schedule'>, now: Instant): number {
  const cron = parseCron(schedule);
  const last = lastTick(cron, now);
  return Math.max(last - lastTick(cron, last - 1), nextTick(cron, now) - last);
}

/** A dataset is stale when a refresh has been due for so long: the alert `QrsDatasetIsOld` (packaging/alerts.yml) says the same. */
const LATE_MILLIS = 3_600_000;

/** That a dataset is stale; undefined when it is not, or has no result. */
export async function staleDatasetOf(
  dataset: Dataset,
  catalog: { readonly executions: Pick<Executions, 'list' | 'findLatest'> },
  now: Instant,
): Promise<StaleDataset | undefined> {
  const { served, ageMillis = 0 } = await datasetAgeOf(dataset, catalog, now);
  const periodMillis = periodMillisOf(dataset, now);
  if (served?.startedAt === undefined || ageMillis <= periodMillis + LATE_MILLIS) return undefined;
  const { queryId, name } = dataset;
  return { queryId, name, executionId: served.id, startedAt: served.startedAt, ageMillis, periodMillis };
}

/** When a dataset's last refresh was due, and when the next is: worked out anew only once that has come. */
export function ticksOf(
  { schedule }: Dataset,
  clock: Clock,
): { readonly last: () => Instant; readonly next: () => Instant } {
  const cron = parseCron(schedule);
  let [last, next] = [0, 0];
  const catchUp = () => {
    const now = clock();
    if (now >= last && now < next) return;
    last = lastTick(cron, now);
    next = nextTick(cron, now);
  };
  return {
    last: () => {
      catchUp();
      return last;
    },
    next: () => {
      catchUp();
      return next;
    },
  };
}
