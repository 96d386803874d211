/**
 * A request as spans: one for the whole, one below it for each stage, as OTLP has them in JSON. Stages follow each other, so each
 * begins where the one before ended; what lies between them is microseconds.
 */
import type { AnsweredRequest } from '../observation.ts';
import type { Sampler } from './trace-settings.ts';

/** A W3C trace context. */
export interface TraceParent {
  /** Lower-case hex, 32 and 16 digits. */
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
}

export interface TracedRequest {
  readonly request: AnsweredRequest;
  readonly traceId: string;
  readonly parentSpanId: string | undefined;
}

type Attribute = { readonly key: string; readonly value: { readonly [kind: string]: string | number | boolean } };

const KIND_INTERNAL = 1;
const KIND_SERVER = 2;
const STATUS_ERROR = 2;

export function parseTraceparent(text: string | undefined): TraceParent | undefined {
  const [, version, traceId = '', spanId = '', flags = ''] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})/.exec(text ?? '') ?? [];
  if (version === undefined || version === 'ff' || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** Whether a trace is wanted: as its beginning decided, or by its id, so that all who see it decide alike. */
export function isSampled({ parentBased, ratio }: Sampler, parent: TraceParent | undefined, traceId: string): boolean {
  if (parentBased && parent !== undefined) return parent.sampled;
  return Number.parseInt(traceId.slice(-13), 16) < ratio * 2 ** 52;
}

/** @param newSpanId 16 lower-case hex digits, never the same twice */
export function spansOf({ request, traceId, parentSpanId }: TracedRequest, newSpanId: () => string): readonly object[] {
  const { method, route, status, startedAt, millis, tally } = request;
  const spanId = newSpanId();
  const spans: object[] = [
    {
      traceId,
      spanId,
      ...(parentSpanId !== undefined && { parentSpanId }),
      name: route === undefined ? method : `${method} ${route}`,
      kind: KIND_SERVER,
      startTimeUnixNano: nanos(startedAt),
      endTimeUnixNano: nanos(startedAt + millis),
      attributes: attributesOf(request),
      ...(status >= 500 && { status: { code: STATUS_ERROR } }),
    },
  ];
  let at = startedAt;
  for (const [name, spent] of tally.stageMillis) {
    spans.push({
      traceId,
      spanId: newSpanId(),
      parentSpanId: spanId,
      name,
      kind: KIND_INTERNAL,
      startTimeUnixNano: nanos(at),
      endTimeUnixNano: nanos(at + spent),
    });
    at += spent;
  }
  return spans;
}

function attributesOf({ requestId, keyId, method, route, status, aborted, tally }: AnsweredRequest): Attribute[] {
  const attributes: Attribute[] = [];
  const text = (key: string, value: string | undefined) => {
    if (value !== undefined) attributes.push({ key, value: { stringValue: value } });
  };
  // OTLP writes 64-bit integers as text.
  const whole = (key: string, value: number) => attributes.push({ key, value: { intValue: String(value) } });
  text('http.request.method', method);
  text('http.route', route);
  whole('http.response.status_code', status);
  text('error.type', tally.errorCode);
  text('qrs.request_id', requestId);
  text('qrs.key_id', keyId);
  text('qrs.execution_id', tally.executionId);
  if (tally.queryId !== undefined) whole('qrs.query_id', tally.queryId);
  whole('qrs.rows', tally.rowCount);
  whole('qrs.datapoints', tally.datapoints);
  whole('http.response.body.size', tally.bodyBytes);
  text('qrs.cache', tally.cache);
  if (aborted) attributes.push({ key: 'qrs.aborted', value: { boolValue: true } });
  return attributes;
}

/** Nanoseconds since 1970 as text: they do not fit into a number. */
function nanos(millis: number): string {
  return String(BigInt(Math.round(millis * 1000)) * 1000n);
}
