/** From the service's parts to what refreshes the curated datasets: one at once, or all of them on their schedule. */

import type { Dataset } from '../datasets/dataset.ts';
import { datasetAgeOf } from '../datasets/dataset-age.ts';
import { type Registered, registerDatasets } from '../datasets/register.ts';
import type { Instant } from '../domain/instant.ts';
import type { Query } from '../domain/query.ts';
import type { Sleep } from '../domain/time.ts';
import { ReserveFile } from '../files/reserve-file.ts';
import { isLeaseOwnerDead } from '../leases/lease-owner.ts';
import { type Swept, sweep } from '../maintenance/sweep.ts';
import { SweepStopped } from '../maintenance/sweep-trust.ts';
import { publish } from '../publishing/publish.ts';
import type { RunQueue } from '../runs/run-queue.ts';
import type { ScheduledQueries } from '../scheduler/due-queries.ts';
import { pruneSuperseded } from '../scheduler/prune.ts';
import type { PublishRefresh, RefreshEvent } from '../scheduler/refresh.ts';
import type { RefreshNowDeps, ScheduleDeps, ScheduledTask } from '../scheduler/schedule.ts';
import { type PublisherEffects, publisherOf } from './publishing.ts';
import { runQueueOf } from './runs.ts';
import type { Service } from './service.ts';

export interface DatasetEffects {
  /** A new execution id, greater than the last one of the same millisecond, so that runs sort as they were begun. */
  readonly newExecutionId: (at: Instant) => string;
  /** Names this process among those that share the catalog. */
  readonly owner: string;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly sleep: Sleep;
  readonly observe: (event: RefreshEvent) => void;
  readonly onFault: (what: string, error: unknown) => void;
  /** What a sweep of the schedule deleted. */
  readonly onSwept?: (swept: Swept) => void;
  /** Why a sweep of the schedule left alone what it would have deleted. */
  readonly onSweepStopped?: (reason: string) => void;
}

/** A dead owner on another host is noticed when its lease has run out: to look six times as often adds little to that. */
const LOOKS_PER_LEASE = 6;

/** So many results and leftovers are swept at a time. */
const SWEEP_STEP = 200;

export interface Refresher extends RefreshNowDeps, Registered {}

/** What refreshes one dataset now. The datasets are queries of the catalog from here on. */
export async function refresherOf(service: Service, effects: DatasetEffects): Promise<Refresher> {
  const { settings, clock, directories } = service;
  const catalog = await service.catalog();
  return {
    ...effects,
    ...(await registerDatasets(catalog, await service.datasets(), clock())),
    catalog,
    clock,
    engine: await service.engine(),
    publish: await publishRefresh(service, { ...effects, newId: () => effects.newExecutionId(clock()) }),
    stagingDirectory: directories.refreshing,
    isLeaseOwnerDead,
    leaseMillis: settings.leaseMillis,
    afterRefresh: async ({ queryId, keep }, signal) => {
      await pruneSuperseded(queryId, keep ?? settings.datasetsKeep, { catalog, now: clock() }, signal);
    },
  };
}

/**
 * What runs the schedule: every dataset at its ticks, queries that have a schedule of their own, and the sweep.
 * @param runQueue of this process, where it has one
 */
export async function scheduleOf(
  service: Service,
  effects: DatasetEffects,
  runQueue?: RunQueue,
): Promise<ScheduleDeps> {
  const refresher = await refresherOf(service, effects);
  return {
    ...refresher,
    isSetUp: (dataset) => isSetUp(service, dataset),
    queries: await scheduledQueries(service, runQueue ?? (await runQueueOf(service, effects))),
    tasks: [await sweepTask(service, effects)],
    pollMillis: service.settings.leaseMillis / LOOKS_PER_LEASE,
  };
}

async function scheduledQueries(service: Service, runQueue: RunQueue): Promise<ScheduledQueries> {
  const catalog = await service.catalog();
  let known: { readonly version: number; readonly queries: readonly Query[] } | undefined;
  return {
    list: async () => {
      const version = await catalog.version();
      if (known?.version !== version) {
        known = { version, queries: await catalog.queries.list({ runsOnSchedule: true }) };
      }
      return known.queries;
    },
    submit: async (query, schedule, at) => {
      await runQueue.submitScheduled({ query, tick: { schedule, at } });
    },
  };
}

/**
 * Whether the dataset has any of its source tables, or has a result. Nobody asked an installation without sources for
 * refreshes that fail every quarter of an hour; but a source that goes missing later is a failure to be seen.
 */
export async function isSetUp(service: Service, dataset: Dataset): Promise<boolean> {
  if (await (await service.engine()).hasAny(dataset.sources)) return true;
  const { served } = await datasetAgeOf(dataset, await service.catalog(), service.clock());
  return served !== undefined;
}

/** What the engine left becomes the result of the run, by the way that every result takes. */
async function publishRefresh(service: Service, effects: PublisherEffects): Promise<PublishRefresh> {
  const { dependencies, options } = await publisherOf(service, effects);
  return async ({ queryId, executionId, path, columns }, signal) => {
    const types = new Map(columns.map(({ name, type }) => [name, type]));
    const request = { queryId, executionId, source: { kind: 'file', path }, format: 'parquet', types } as const;
    return await publish(dependencies, request, options, signal);
  };
}

async function sweepTask(
  service: Service,
  { onSwept = () => undefined, onSweepStopped }: Pick<DatasetEffects, 'onSwept' | 'onSweepStopped'>,
): Promise<ScheduledTask> {
  const dependencies = {
    catalog: await service.catalog(),
    store: await service.store(),
    reserve: new ReserveFile(service.directories.reserve),
    stagingDirectory: service.directories.staging,
    derivedDirectory: service.directories.derived,
    clock: service.clock,
    readTimeoutMillis: service.settings.readTimeoutMillis,
    trust: { shareMax: service.settings.sweepShare, confirmed: false },
  };
  return {
    name: 'sweep',
    schedule: service.settings.sweepSchedule,
    run: async (signal) => {
      const total = { expired: 0, orphans: 0, bytes: 0 };
      try {
        for (;;) {
          const { expired, orphans, bytes } = await sweep(dependencies, SWEEP_STEP, signal);
          if (expired + orphans + bytes === 0) break;
          total.expired += expired;
          total.orphans += orphans;
          total.bytes += bytes;
        }
      } catch (error) {
        if (!(error instanceof SweepStopped)) throw error;
        onSweepStopped?.(error.message);
      }
      onSwept(total);
    },
  };
}
