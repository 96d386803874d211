/**
 * The metrics: what was observed, counted, and the gauges, which are read when somebody asks. docs/grafana-dashboard.json shows
 * them; a test holds every name in it against this.
 */
import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { WebhookAttempt } from '../domain/webhook.ts';
import type { RunEvent } from '../runs/run-claimed.ts';
import type { AnsweredRequest, Observation, Observe } from './observation.ts';
import { countedBy, summed, timedBy } from './summed-metrics.ts';

/** One number, or one for each of several labels, read when the metrics are asked for. */
export interface GaugeSource {
  readonly name: string;
  readonly help: string;
  /** A gauge unless it says otherwise. */
  readonly type?: 'counter';
  /** Set where every process would tell the same: then it is not summed over them. */
  readonly sameInAll?: true;
  /** The label's name, where there are several numbers. */
  readonly label?: string;
  /** By label value; a lone number stands under ''. What rejects is left out. */
  readonly read: () => Promise<Readonly<Record<string, number>>> | Readonly<Record<string, number>>;
}

export interface Metrics {
  readonly observe: Observe;
  readonly contentType: string;
  /** In Prometheus' text format. */
  text(): Promise<string>;
  /** As data, for `sumOfMetrics`. */
  collect(): Promise<unknown>;
}

/** The metrics of several processes as one text: counters and most gauges summed. @param collected what `collect` gave in each */
export async function sumOfMetrics(collected: readonly unknown[]): Promise<string> {
  return await AggregatorRegistry.aggregate(collected as object[][]).metrics();
}

/** Pages take milliseconds, exports minutes. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const RUN_SECONDS = [0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600];

export function makeMetrics(gauges: readonly GaugeSource[]): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const gauge of gauges) registerGauge(registry, gauge);
  const onRequest = requestMetrics(registry);
  const onRun = runMetrics(registry);
  const counter = (name: string, help: string) => new Counter({ name, help, registers: [registry] });
  const faults = counter('qrs_faults_total', 'Things that went wrong and are in the log.');
  const onUsage = usageMetrics(counter);
  const onSwept = sweepMetrics(counter);
  const onDerived = derivedMetrics(registry);
  const onWebhook = webhookMetrics(registry);
  const observe = (observation: Observation): void => {
    switch (observation.kind) {
      case 'answered':
        onRequest(observation);
        break;
      case 'fault':
        faults.inc();
        break;
      case 'usage_written':
      case 'usage_not_written':
        onUsage(observation.kind);
        break;
      case 'run':
        onRun(observation.event);
        break;
      case 'webhook':
        onWebhook(observation.attempt);
        break;
      case 'swept':
        onSwept(observation);
        break;
      case 'row_files_built':
      case 'row_files_failed':
      case 'row_files_refused':
      case 'row_file_damaged':
      case 'index_refused':
      case 'index_built':
      case 'index_failed':
      case 'index_damaged':
        onDerived(observation);
        break;
      case 'bloom_filters_unreadable':
      case 'listening':
      case 'stopping':
      case 'stopped':
      case 'datasets_without_sources':
      case 'dataset_refused':
      case 'clock_jumped':
      case 'result_missing':
      case 'result_restored':
      case 'sweep_stopped':
      case 'worker_ended':
        return;
      default:
        observation satisfies never;
    }
  };
  const { contentType } = registry;
  return { observe, contentType, text: () => registry.metrics(), collect: () => registry.getMetricsAsJSON() };
}

function requestMetrics(registry: Registry): (request: AnsweredRequest) => void {
  const registers = [registry];
  const counter = (name: string, help: string) => summed(name, help, registry);
  const requests = countedBy('qrs_http_requests_total', 'Requests answered.', ['route', 'status'], registry);
  const errors = new Counter({
    name: 'qrs_http_errors_total',
    help: 'Answers that are errors, by their code.',
    labelNames: ['code'],
    registers,
  });
  const durationHelp = 'From the head of the request to the end of its answer.';
  const durations = timedBy('qrs_http_request_duration_seconds', durationHelp, 'route', SECONDS, registry);
  const stages = timedBy('qrs_stage_duration_seconds', 'Time in each stage of a request.', 'stage', SECONDS, registry);
  const aborted = counter('qrs_http_requests_aborted_total', 'Answers cut short, by the client or by us.');
  const rows = counter('qrs_rows_total', 'Rows handed out.');
  const cellBytes = counter('qrs_cell_bytes_total', 'Cell bytes handed out.');
  const datapoints = counter('qrs_datapoints_total', 'Datapoints handed out.');
  const bodyBytes = counter('qrs_response_body_bytes_total', 'Bytes of bodies sent, compressed as they were.');
  const cacheHelp = 'Requests for pages, by whether a finished one was at hand.';
  const cache = countedBy('qrs_page_cache_requests_total', cacheHelp, ['outcome'], registry);
  return ({ route = 'none', status, millis, aborted: cut, stats }) => {
    requests(route, status);
    durations(route, millis / 1000);
    for (const [stage, spent] of stats.stageMillis) stages(stage, spent / 1000);
    if (stats.errorCode !== undefined) errors.inc({ code: stats.errorCode });
    if (cut) aborted(1);
    rows(stats.rowCount);
    cellBytes(stats.cellBytes);
    datapoints(stats.datapoints);
    bodyBytes(stats.bodyBytes);
    if (stats.cache !== undefined) cache(stats.cache);
  };
}

type RowFileObservation = Extract<Observation, { readonly kind: `row_file${string}` }>;

type IndexObservation = Extract<Observation, { readonly kind: `index_${string}` }>;

function derivedMetrics(registry: Registry): (observation: RowFileObservation | IndexObservation) => void {
  const [onRowFiles, onIndex] = [rowFileMetrics(registry), indexMetrics(registry)];
  return (observation) => {
    switch (observation.kind) {
      case 'row_files_built':
      case 'row_files_failed':
      case 'row_files_refused':
      case 'row_file_damaged':
        return onRowFiles(observation);
      default:
        return onIndex(observation);
    }
  };
}

const ROW_FILE_OUTCOMES = { row_files_failed: 'failed', row_files_refused: 'refused', row_file_damaged: 'damaged' };

function rowFileMetrics(registry: Registry): (observation: RowFileObservation) => void {
  const registers = [registry];
  const files = new Counter({
    name: 'qrs_row_files_total',
    help: 'Row files by what came of them: built, failed and refused for good (once for a result or view), damaged (and removed).',
    labelNames: ['outcome'],
    registers,
  });
  const seconds = new Counter({
    name: 'qrs_row_files_seconds_total',
    help: 'Time that building row files took.',
    registers,
  });
  return (observation) => {
    if (observation.kind === 'row_files_built') {
      files.inc({ outcome: 'built' }, observation.files);
      seconds.inc(observation.millis / 1000);
    } else files.inc({ outcome: ROW_FILE_OUTCOMES[observation.kind] });
  };
}

function webhookMetrics(registry: Registry): (attempt: WebhookAttempt) => void {
  const attempts = new Counter({
    name: 'qrs_webhook_attempts_total',
    help: 'Attempts to deliver messages to webhooks by this process: delivered, failed (and tried again), given up.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  return ({ outcome }) => attempts.inc({ outcome });
}

function usageMetrics(
  counter: (name: string, help: string) => Counter,
): (kind: 'usage_written' | 'usage_not_written') => void {
  const written = counter('qrs_usage_writes_total', 'Times that usage was written to the catalog.');
  const failed = counter('qrs_usage_write_failures_total', 'Times that usage could not be written and was kept.');
  return (kind) => (kind === 'usage_written' ? written : failed).inc();
}

function sweepMetrics(
  counter: (name: string, help: string) => Counter,
): (swept: Extract<Observation, { readonly kind: 'swept' }>) => void {
  const sweeps = counter('qrs_sweeps_total', 'Sweeps by this process.');
  const sweptResults = counter('qrs_swept_results_total', 'Results deleted because they had expired.');
  const sweptOrphans = counter('qrs_swept_orphans_total', 'Leftovers of publishers deleted.');
  const sweptBytes = counter('qrs_swept_bytes_total', 'Bytes that the sweep freed.');
  return ({ expired, orphans, bytes }) => {
    sweeps.inc();
    sweptResults.inc(expired);
    sweptOrphans.inc(orphans);
    sweptBytes.inc(bytes);
  };
}

function runMetrics(registry: Registry): (event: RunEvent) => void {
  const registers = [registry];
  const runs = new Counter({
    name: 'qrs_runs_total',
    help: 'Runs of queries by this process, by what came of them.',
    labelNames: ['outcome'],
    registers,
  });
  const durations = new Histogram({
    name: 'qrs_run_duration_seconds',
    help: 'From the claim of a run to its stored result.',
    buckets: RUN_SECONDS,
    registers,
  });
  const onRefresh = refreshMetrics(registry);
  return (event) => {
    if (event.kind === 'started') return;
    if (event.dataset !== undefined) onRefresh(event.dataset, event);
    runs.inc({ outcome: event.kind });
    if (event.kind === 'completed') durations.observe(event.millis / 1000);
  };
}

function indexMetrics(registry: Registry): (observation: IndexObservation) => void {
  const registers = [registry];
  const indexes = new Counter({
    name: 'qrs_indexes_total',
    help: 'Indexes of columns by what came of them: built, failed, refused for good, damaged (and removed).',
    labelNames: ['outcome'],
    registers,
  });
  const seconds = new Counter({
    name: 'qrs_indexes_seconds_total',
    help: 'Time that building indexes took.',
    registers,
  });
  return (observation) => {
    indexes.inc({ outcome: observation.kind.slice('index_'.length) });
    if (observation.kind === 'index_built') seconds.inc(observation.millis / 1000);
  };
}

function refreshMetrics(registry: Registry): (dataset: string, event: RunEvent) => void {
  const registers = [registry];
  const refreshes = new Counter({
    name: 'qrs_dataset_refreshes_total',
    help: 'Refreshes of a dataset by this process, by what came of them.',
    labelNames: ['dataset', 'outcome'],
    registers,
  });
  const durations = new Histogram({
    name: 'qrs_dataset_refresh_duration_seconds',
    help: 'From the claim of a refresh to its stored result.',
    labelNames: ['dataset'],
    buckets: RUN_SECONDS,
    registers,
  });
  return (dataset, event) => {
    refreshes.inc({ dataset, outcome: event.kind === 'completed' ? 'refreshed' : event.kind });
    if (event.kind === 'completed') durations.observe({ dataset }, event.millis / 1000);
  };
}

function registerGauge(registry: Registry, { name, help, type, sameInAll, label, read }: GaugeSource): void {
  const Metric = type === 'counter' ? Counter : Gauge;
  new Metric({
    name,
    help,
    labelNames: label === undefined ? [] : [label],
    registers: [registry],
    aggregator: sameInAll ? 'max' : 'sum',
    async collect() {
      this.reset();
      // A catalog that is away must not take the other metrics with it: those are what tells why.
      const values = await Promise.resolve()
        .then(read)
        .catch(() => (label === undefined ? { '': Number.NaN } : {}));
      for (const [key, value] of Object.entries(values)) {
        // After the reset, which makes adding the same as setting.
        if (label === undefined) this.inc(value);
        else this.inc({ [label]: key }, value);
      }
    },
  });
}
