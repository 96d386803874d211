/**
 * Requests as traces: a span for the request, one below it for each stage, sent to a collector by the OpenTelemetry SDK in batches, beside
 * the requests and never in their way. When the collector is slow or away, spans are dropped.
 */
import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { type ExportResult, ExportResultCode, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { AnsweredRequest, Observation, Observe } from '../observation.ts';
import type { TraceSampling, TraceSettings } from './trace-settings.ts';

const PROPAGATOR = new W3CTraceContextPropagator();
const TRACEPARENT = {
  get: (carrier: string, name: string) => (name === 'traceparent' ? carrier : undefined),
  keys: () => ['traceparent'],
};

export class Tracing {
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;

  /** @param observe told once when the collector cannot be reached, and again only after it could */
  constructor(settings: TraceSettings, observe: Observe) {
    const { url, headers, timeoutMillis, resource, sampling, batch } = settings;
    const exporter = new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis });
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes(resource),
      sampler: samplerOf(sampling),
      spanProcessors: [
        new BatchSpanProcessor({
          exporter: new ReportingExporter(exporter, url, observe),
          scheduledDelayMillis: batch.delayMillis,
          maxQueueSize: batch.queueMax,
          maxExportBatchSize: Math.min(batch.sizeMax, batch.queueMax),
          exportTimeoutMillis: timeoutMillis,
        }),
      ],
    });
    this.#tracer = this.#provider.getTracer('query-results-service');
  }

  observe(observation: Observation): void {
    if (observation.kind === 'answered') record(observation, this.#tracer);
  }

  /** Sends what is left. */
  async shutdown(): Promise<void> {
    await this.#provider.shutdown();
  }
}

/** Stages follow each other, so each begins where the one before ended; what lies between them is microseconds. */
function record(request: AnsweredRequest, tracer: Tracer): void {
  const { method, route, status, startedAt, millis, stats } = request;
  const name = route === undefined ? method : `${method} ${route}`;
  const options = { kind: SpanKind.SERVER, startTime: startedAt, attributes: attributesOf(request) };
  const span = tracer.startSpan(name, options, parentOf(request));
  if (span.isRecording()) {
    if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    const inside = trace.setSpan(ROOT_CONTEXT, span);
    let at = startedAt;
    for (const [stage, spent] of stats.stageMillis) {
      const stageSpan = tracer.startSpan(stage, { startTime: at }, inside);
      at += spent;
      stageSpan.end(at);
    }
  }
  span.end(startedAt + millis);
}

/** The trace that the client began, if it says so. */
function parentOf({ traceparent }: AnsweredRequest): Context {
  return traceparent === undefined ? ROOT_CONTEXT : PROPAGATOR.extract(ROOT_CONTEXT, traceparent, TRACEPARENT);
}

function attributesOf({ requestId, keyId, method, route, status, aborted, stats }: AnsweredRequest): Attributes {
  return {
    'http.request.method': method,
    'http.route': route,
    'http.response.status_code': status,
    'http.response.body.size': stats.bodyBytes,
    'error.type': stats.errorCode,
    'qrs.request_id': requestId,
    'qrs.key_id': keyId,
    'qrs.execution_id': stats.executionId,
    'qrs.query_id': stats.queryId,
    'qrs.rows': stats.rowCount,
    'qrs.datapoints': stats.datapoints,
    'qrs.cache': stats.cache,
    ...(aborted && { 'qrs.aborted': true }),
  };
}

function samplerOf({ parentBased, ratio }: TraceSampling): Sampler {
  const root =
    ratio === 1 ? new AlwaysOnSampler() : ratio === 0 ? new AlwaysOffSampler() : new TraceIdRatioBasedSampler(ratio);
  return parentBased ? new ParentBasedSampler({ root }) : root;
}

/** A collector that is away is one fault, not one for every batch. */
class ReportingExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #origin: string;
  readonly #observe: Observe;
  #failing = false;

  constructor(exporter: SpanExporter, url: string, observe: Observe) {
    this.#exporter = exporter;
    this.#origin = new URL(url).origin;
    this.#observe = observe;
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.#exporter.export(spans, (result) => {
      const failed = result.code === ExportResultCode.FAILED;
      if (failed && !this.#failing) {
        const cause = result.error;
        const error = new Error(
          `the collector at ${this.#origin} did not take traces: ${cause?.message ?? 'no reason given'}`,
          { cause },
        );
        this.#observe({ kind: 'fault', what: 'sending traces', error });
      }
      this.#failing = failed;
      // The SDK would tell the process's console of it; it has been told here.
      done({ code: ExportResultCode.SUCCESS });
    });
  }

  async shutdown(): Promise<void> {
    await this.#exporter.shutdown();
  }
}
