/**
 * Sends traces of requests to a collector, in batches, beside the requests and never in their way: when the collector is slow or
 * away, traces are dropped.
 */
import type { Sleep } from '../../scheduler/time.ts';
import type { Observation, Observe } from '../observation.ts';
import { isSampled, parseTraceparent, spansOf, type TracedRequest } from './span.ts';
import type { TraceSettings } from './trace-settings.ts';

export interface TraceEffects {
  readonly randomBytes: (length: number) => Uint8Array;
  readonly sleep: Sleep;
  readonly fetch: typeof fetch;
  readonly observe: Observe;
}

const TRACE_ID_BYTES = 16;
const SPAN_ID_BYTES = 8;

export class TraceExporter {
  readonly #settings: TraceSettings;
  readonly #effects: TraceEffects;
  #queue: TracedRequest[] = [];
  /** Said once, until it works again: a collector that is away is one fault, not one every five seconds. */
  #failing = false;

  constructor(settings: TraceSettings, effects: TraceEffects) {
    this.#settings = settings;
    this.#effects = effects;
  }

  observe(request: Observation): void {
    if (request.kind !== 'answered' || this.#queue.length >= this.#settings.batch.queueMax) return;
    const parent = parseTraceparent(request.traceparent);
    const traceId = parent?.traceId ?? this.#id(TRACE_ID_BYTES);
    if (!isSampled(this.#settings.sampler, parent, traceId)) return;
    this.#queue.push({ request, traceId, parentSpanId: parent?.spanId });
  }

  /** Sends what has gathered, at every interval until the signal is aborted, and then what is left. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#effects.sleep(this.#settings.batch.delayMillis, signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
      await this.#send();
    }
  }

  async #send(): Promise<void> {
    const { batch } = this.#settings;
    const queue = this.#queue;
    this.#queue = [];
    for (let from = 0; from < queue.length; from += batch.sizeMax) {
      try {
        await this.#post(queue.slice(from, from + batch.sizeMax));
        this.#failing = false;
      } catch (error) {
        if (!this.#failing) this.#effects.observe({ kind: 'fault', what: 'sending traces', error });
        this.#failing = true;
        return;
      }
    }
  }

  async #post(requests: readonly TracedRequest[]): Promise<void> {
    const { url, headers, resource, timeoutMillis } = this.#settings;
    const attributes = Object.entries(resource).map(([key, value]) => ({ key, value: { stringValue: value } }));
    const spans = requests.flatMap((request) => spansOf(request, () => this.#id(SPAN_ID_BYTES)));
    const scopeSpans = [{ scope: { name: 'query-results-service' }, spans }];
    const response = await this.#effects.fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ resourceSpans: [{ resource: { attributes }, scopeSpans }] }),
      signal: AbortSignal.timeout(timeoutMillis),
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`the collector at ${new URL(url).origin} answered ${response.status}`);
  }

  #id(bytes: number): string {
    return Buffer.from(this.#effects.randomBytes(bytes)).toString('hex');
  }
}
