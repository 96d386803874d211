/** From the service's parts to the schedule: queries with schedules of their own, the curated datasets, and the sweep. */

import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import type { Dataset } from '../datasets/dataset.ts';
import { datasetAgeOf } from '../datasets/dataset-age.ts';
import { isCurated } from '../datasets/register.ts';
import type { Query } from '../domain/query.ts';
import { ReserveFile } from '../files/reserve-file.ts';
import { sweepAlone } from '../maintenance/one-sweep.ts';
import { type SweepDependencies, type Swept, sweepAll, sweepLocal } from '../maintenance/sweep.ts';
import { SweepStopped } from '../maintenance/sweep-trust.ts';
import type { RunQueue } from '../runs/run-queue.ts';
import type { ScheduledQueries, ScheduledQuery } from '../scheduler/due-queries.ts';
import type { ScheduleDeps, ScheduledTask } from '../scheduler/schedule.ts';
import type { Service } from './service.ts';

export interface ScheduleEffects {
  /** Names this process among those that share the catalog. */
  readonly owner: string;
  readonly onFault: (what: string, error: unknown) => void;
  /** What a sweep by the schedule deleted. */
  readonly onSwept?: (swept: Swept) => void;
  /** Why a sweep by the schedule stopped without deleting. */
  readonly onSweepStopped?: (reason: string) => void;
}

/** How soon new source tables of a dataset, or a query's new schedule, are noticed. */
const POLL_MILLIS = 5000;

/**
 * How long it holds that a dataset has no source tables. In DuckDB they are files, looked for each time. On Trino each look is a query, which
 * nobody wants in its history every few seconds for good.
 */
const ABSENT_MILLIS = { duckdb: 0, trino: 60_000 } as const;

/**
 * Runs the schedule: every query that has one, at its ticks, and the sweep.
 * @param runQueue of this process
 */
export async function scheduleOf(
  service: Service,
  effects: ScheduleEffects,
  runQueue: RunQueue,
): Promise<ScheduleDeps> {
  const { clock, sleep } = service;
  return {
    catalog: await service.catalog(),
    clock,
    sleep,
    queries: await scheduledQueries(service, runQueue),
    tasks: [await sweepTask(service, effects), ...(await tidyTasks(service))],
    pollMillis: POLL_MILLIS,
    onFault: effects.onFault,
  };
}

async function scheduledQueries(service: Service, runQueue: RunQueue): Promise<ScheduledQueries> {
  const catalog = await service.catalog();
  const datasets = new Map((await service.datasets()).map((dataset) => [dataset.queryId, dataset]));
  const isSetUpOf = lookAtSources(service);
  let known: { readonly version: number; readonly queries: readonly ScheduledQuery[] } | undefined;
  return {
    list: async () => {
      const version = await catalog.version();
      if (known?.version !== version) {
        const queries = await catalog.queries.list({ runsOnSchedule: true });
        known = { version, queries: queries.flatMap((query) => scheduledQuery(query, datasets, isSetUpOf)) };
      }
      return known.queries;
    },
    submit: async (query, tick) => {
      return (await runQueue.submitScheduled({ query, tick, isLimited: !isCurated(query) })) !== undefined;
    },
  };
}

/** A dataset may be refreshed from the start on. One that no longer exists is not run. */
function scheduledQuery(
  query: Query,
  datasets: ReadonlyMap<number, Dataset>,
  isSetUpOf: LookAtSources,
): readonly ScheduledQuery[] {
  if (!isCurated(query)) return [{ query, since: query.scheduledAt, isSetUp: async () => true }];
  const dataset = datasets.get(query.id);
  return dataset === undefined ? [] : [{ query, since: 0, isSetUp: (signal) => isSetUpOf(dataset, signal) }];
}

type LookAtSources = (dataset: Dataset, signal: AbortSignal) => Promise<boolean>;

/** As `isSetUp`, and what was absent a moment ago still is. */
function lookAtSources(service: Service): LookAtSources {
  const { monotonic, settings } = service;
  const absentMillis = ABSENT_MILLIS[settings.engine.kind];
  const absentUntil = new Map<number, number>();
  return async (dataset, signal) => {
    if (monotonic() < (absentUntil.get(dataset.queryId) ?? Number.NEGATIVE_INFINITY)) return false;
    const found = await isSetUp(service, dataset, signal);
    if (!found) absentUntil.set(dataset.queryId, monotonic() + absentMillis);
    return found;
  };
}

/** The names of the datasets that the schedule leaves alone until they have source tables. */
export async function datasetsNotSetUp(service: Service, signal: AbortSignal): Promise<readonly string[]> {
  const names: string[] = [];
  for (const dataset of await service.datasets()) {
    if (!(await isSetUp(service, dataset, signal))) names.push(dataset.name);
  }
  return names;
}

/**
 * Whether the dataset has a result, which may have expired, or any of its source tables. Without sources nobody wants refreshes that
 * fail every quarter of an hour. But a source that goes missing later is a failure that must be seen.
 */
async function isSetUp(service: Service, dataset: Dataset, signal: AbortSignal): Promise<boolean> {
  if (await (await service.engine()).hasAny(dataset.sources, signal)) return true;
  const { served, hasExpired } = await datasetAgeOf(dataset, await service.catalog(), service.clock());
  return served !== undefined || hasExpired;
}

async function sweepTask(
  service: Service,
  { owner, onSwept = () => undefined, onSweepStopped }: ScheduleEffects,
): Promise<ScheduledTask> {
  const dependencies = await sweepDependencies(service);
  const { catalog } = dependencies;
  const { clock, sleep, settings } = service;
  const leaseOptions = { catalog, clock, sleep, owner, leaseMillis: settings.leaseMillis };
  const run = async (signal: AbortSignal) => {
    let total: Swept = { expired: 0, orphans: 0, bytes: 0 };
    try {
      await sweepAll(dependencies, signal, (soFar) => {
        total = soFar;
      });
    } catch (error) {
      if (!(error instanceof SweepStopped)) throw error;
      onSweepStopped?.(error.message);
    }
    onSwept(total);
  };
  return {
    name: 'sweep',
    schedule: settings.sweepSchedule,
    run: async (signal) => void (await sweepAlone(leaseOptions, signal, run)),
  };
}

/** The sweep is done by one process; what others left on their own disks only a process of their host can see. */
async function tidyTasks(service: Service): Promise<readonly ScheduledTask[]> {
  if (service.settings.catalog.kind === 'sqlite') return [];
  const dependencies = await sweepDependencies(service);
  const place = createHash('sha256').update(`${hostname()} ${service.directories.data}`).digest('hex').slice(0, 16);
  return [
    {
      name: `tidy:${place}`,
      schedule: service.settings.sweepSchedule,
      run: async (signal) => await sweepLocal(dependencies, signal),
    },
  ];
}

/** @param confirmed it goes on where a sweep would stop */
export async function sweepDependencies(service: Service, confirmed = false): Promise<SweepDependencies> {
  return {
    catalog: await service.catalog(),
    store: await service.store(),
    reserve: new ReserveFile(service.directories.reserve),
    stagingDirectory: service.directories.staging,
    derivedDirectory: service.directories.derived,
    clock: service.clock,
    readTimeoutMillis: service.settings.readTimeoutMillis,
    trust: { shareMax: service.settings.sweepShare, confirmed },
  };
}
