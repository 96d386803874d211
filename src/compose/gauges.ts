/** From the parts of a running server to the gauges of its metrics. A gauge is read only when the metrics are asked for. */
import type { Catalog } from '../catalog/catalog.ts';
import type { Dataset } from '../datasets/dataset.ts';
import { datasetAgeOf, periodMillisOf } from '../datasets/dataset-age.ts';
import type { Clock } from '../domain/instant.ts';
import { LEASE_KINDS } from '../domain/lease-names.ts';
import { type Sleep, TimeLimit } from '../domain/time.ts';
import type { DuckDb, DuckDbUse } from '../duckdb/duckdb.ts';
import type { EventLoopWatch } from '../observation/event-loop.ts';
import type { GaugeSource } from '../observation/metrics.ts';
import type { WorkQueue } from '../results/limits/work-queue.ts';

export interface GaugedParts {
  readonly catalog: Catalog;
  readonly datasets: readonly Dataset[];
  /** By the name that metrics have for each: pages, reads, heavy. */
  readonly duckDbs: Readonly<Record<string, DuckDb>>;
  readonly queues: Readonly<Record<string, WorkQueue>>;
  /** Caches in memory or on disk, by what they hold. */
  readonly caches: Readonly<Record<string, { readonly bytes: number }>>;
  /** Disk reserved for Parquet answers. */
  readonly parquet: { readonly bytes: number };
  readonly heavyReads: { readonly running: number; readonly waiting: number };
  readonly requests: { readonly count: number };
  readonly usage: { readonly waiting: number };
  readonly logLines: { readonly dropped: number };
  readonly replicas: { readonly name: string; readonly count: number };
  readonly eventLoop: Pick<EventLoopWatch, 'held' | 'worked' | 'collected'>;
  readonly clock: Clock;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
  readonly sleep: Sleep;
}

/** A scrape waits this long for a busy DuckDB. */
const DUCKDB_MILLIS_MAX = 1000;

/** Of a series that describes what all replicas share. */
function shared(help: string): string {
  return `${help} The same in every replica: take one of them, not the sum.`;
}

export function gaugesOf(parts: GaugedParts): readonly GaugeSource[] {
  const { queues, caches, parquet, usage, heavyReads, requests, logLines, replicas } = parts;
  const each = <T>(named: Readonly<Record<string, T>>, value: (one: T) => number) =>
    Object.fromEntries(Object.entries(named).map(([name, one]) => [name, value(one)]));
  return [
    {
      name: 'qrs_workers',
      help: 'Processes that answer requests on this address and are in these metrics.',
      read: () => ({ '': 1 }),
    },
    {
      name: 'qrs_replica_info',
      sameInAll: true,
      help: 'Always 1, with the name of the replica (QRS_REPLICA_NAME) whose metrics these are.',
      label: 'replica',
      read: () => ({ [replicas.name]: 1 }),
    },
    {
      name: 'qrs_replicas',
      sameInAll: true,
      help: shared('Replicas that run, as far as this one knows: what limits per key are divided by.'),
      read: () => ({ '': replicas.count }),
    },
    {
      name: 'qrs_http_requests_under_way',
      help: 'Requests whose answer is not out yet.',
      read: () => ({ '': requests.count }),
    },
    {
      name: 'qrs_queue_running',
      help: 'Pieces of work that run: pages, searches (first pages of views, samples), exports (parts of large answers), heavy (materialising views), wide (rows of 500 columns and more).',
      label: 'queue',
      read: () => each(queues, ({ running }) => running),
    },
    {
      name: 'qrs_queue_waiting',
      help: 'Pieces of work that wait for their turn.',
      label: 'queue',
      read: () => each(queues, ({ waiting }) => waiting),
    },
    {
      name: 'qrs_heavy_reads_admitted',
      help: 'Exports and large sorted or filtered reads in flight, of those that may be (QRS_HEAVY_READS).',
      read: () => ({ '': heavyReads.running }),
    },
    {
      name: 'qrs_heavy_reads_waiting',
      help: 'Exports and large sorted or filtered reads that wait for a place.',
      read: () => ({ '': heavyReads.waiting }),
    },
    {
      name: 'qrs_cache_bytes',
      help: 'What the caches hold: pages, next pages of walks, compressed and whole answers in memory, views, other derived files and Parquet answers on disk.',
      label: 'cache',
      read: () => each(caches, ({ bytes }) => bytes),
    },
    {
      name: 'qrs_parquet_bytes',
      help: 'Disk set apart for Parquet answers that are being written or sent, of what may be (QRS_PARQUET_DISK).',
      read: () => ({ '': parquet.bytes }),
    },
    {
      name: 'qrs_usage_waiting',
      help: 'Sums of usage that are not in the catalog yet.',
      read: () => ({ '': usage.waiting }),
    },
    {
      name: 'qrs_log_lines_dropped_total',
      help: 'Lines of the log that could not be written: its disk is full, or its reader is gone or hangs.',
      type: 'counter',
      read: () => ({ '': logLines.dropped }),
    },
    ...eventLoopGauges(parts),
    ...duckDbGauges(parts),
    ...catalogGauges(parts),
    ...datasetGauges(parts),
  ];
}

function eventLoopGauges({ eventLoop }: GaugedParts): readonly GaugeSource[] {
  const times = (name: string, help: string, part: keyof GaugedParts['eventLoop']): GaugeSource => ({
    name,
    help: `${help} Since the metrics were last asked for.`,
    label: 'quantile',
    sameInAll: true,
    read: () => eventLoop[part].take(),
  });
  return [
    times(
      'qrs_event_loop_held_seconds',
      'CPU time of one turn of the event loop: how long it is held, however busy the cores are.',
      'held',
    ),
    times('qrs_event_loop_work_seconds', 'The same without collections of the heap: what requests take.', 'worked'),
    times('qrs_event_loop_gc_seconds', 'The part of the same that collections of the heap take.', 'collected'),
  ];
}

function duckDbGauges({ duckDbs, sleep }: GaugedParts): readonly GaugeSource[] {
  const read = async (part: keyof DuckDbUse) => {
    const values: Record<string, number> = {};
    for (const [name, duckDb] of Object.entries(duckDbs)) {
      using limit = new TimeLimit(DUCKDB_MILLIS_MAX, sleep);
      const use = await duckDb.use(limit.signal).catch(() => undefined);
      if (use !== undefined) values[name] = use[part];
    }
    return values;
  };
  return [
    {
      name: 'qrs_duckdb_memory_bytes',
      help: 'Memory that DuckDB holds: pages (ranges of rows), reads (searches), heavy (views).',
      label: 'instance',
      read: () => read('memoryBytes'),
    },
    {
      name: 'qrs_duckdb_spilled_bytes',
      help: 'Disk that DuckDB takes for what does not fit in memory.',
      label: 'instance',
      read: () => read('spilledBytes'),
    },
  ];
}

function catalogGauges({ catalog, monotonic }: GaugedParts): readonly GaugeSource[] {
  return [
    {
      name: 'qrs_catalog_latency_seconds',
      sameInAll: true,
      help: 'How long one look-up in the catalog took just now.',
      read: async () => {
        const start = monotonic();
        await catalog.executions.list({ limit: 1 });
        return { '': (monotonic() - start) / 1000 };
      },
    },
    {
      name: 'qrs_publishing_under_way',
      sameInAll: true,
      help: shared('Results being written, by whatever process.'),
      read: async () => ({ '': (await catalog.leases.list(LEASE_KINDS.write)).length }),
    },
    {
      name: 'qrs_webhook_messages_waiting',
      sameInAll: true,
      help: shared('Messages to webhooks that have not been delivered yet, nor given up.'),
      read: async () => ({ '': await catalog.webhooks.countWaiting() }),
    },
    {
      name: 'qrs_newest_result_timestamp_seconds',
      sameInAll: true,
      help: shared('When the newest complete result was finished, whoever published it; absent when there is none.'),
      label: 'state',
      read: async () => {
        const [newest] = await catalog.executions.list({ state: 'COMPLETED', limit: 1 });
        return newest?.endedAt === undefined ? {} : { completed: newest.endedAt / 1000 };
      },
    },
  ];
}

function datasetGauges({ catalog, datasets, clock }: GaugedParts): readonly GaugeSource[] {
  const read = async (value: (freshness: Awaited<ReturnType<typeof datasetAgeOf>>) => number | undefined) => {
    const values: Record<string, number> = {};
    for (const dataset of datasets) {
      const number = value(await datasetAgeOf(dataset, catalog, clock()));
      if (number !== undefined) values[dataset.name] = number;
    }
    return values;
  };
  return [
    {
      name: 'qrs_dataset_age_seconds',
      sameInAll: true,
      help: shared('Time since the run began that the dataset answers with; absent while it has none.'),
      label: 'dataset',
      read: () => read(({ ageMillis }) => (ageMillis === undefined ? undefined : ageMillis / 1000)),
    },
    {
      name: 'qrs_dataset_period_seconds',
      sameInAll: true,
      help: shared(
        'How far apart the refreshes of a dataset are: the longer of the time up to the last one due and the time from it to the next.',
      ),
      label: 'dataset',
      read: () =>
        Object.fromEntries(datasets.map((dataset) => [dataset.name, periodMillisOf(dataset, clock()) / 1000])),
    },
    {
      name: 'qrs_dataset_last_refresh_failed',
      sameInAll: true,
      help: shared('1 when the newest refresh failed, whichever process ran it; absent while there was none.'),
      label: 'dataset',
      read: () => read(({ latest }) => (latest === undefined ? undefined : Number(latest.state === 'FAILED'))),
    },
  ];
}
