import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import type { AnsweredRequest, Observation } from '../observation.ts';
import { RequestStats } from '../request-stats.ts';
import { TraceSettingsError, traceSettings } from './trace-settings.ts';
import { Tracing } from './tracing.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const SPAN_ID = 'b7ad6b7169203331';

function answered(more: Partial<AnsweredRequest> = {}): AnsweredRequest {
  const stats = Object.assign(new RequestStats(), {
    queryId: 7,
    rowCount: 2,
    datapoints: 4,
    bodyBytes: 100,
    cache: 'miss',
  });
  stats.spent('resolve', 1.5);
  stats.spent('read', 2);
  return {
    kind: 'answered',
    requestId: 'r1',
    keyId: 'k1',
    method: 'GET',
    route: '/v1/query/:id/results',
    status: 200,
    startedAt: 1_709_671_859_000,
    millis: 4,
    aborted: false,
    traceparent: undefined,
    stats,
    ...more,
  };
}

test('no traces unless a standard variable asks for them', () => {
  assert.equal(traceSettings({}, '1.2.3'), undefined);
  assert.equal(traceSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: '' }, '1.2.3'), undefined);
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/' };
  assert.equal(traceSettings({ ...endpoint, OTEL_SDK_DISABLED: 'true' }, '1.2.3'), undefined);
  assert.equal(traceSettings({ ...endpoint, OTEL_TRACES_EXPORTER: 'none' }, '1.2.3'), undefined);
});

test('what the variables say', () => {
  const settings = traceSettings(
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20abc,x-tenant=a',
      OTEL_SERVICE_NAME: 'results',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=prod,service.name=other',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.25',
      OTEL_BSP_SCHEDULE_DELAY: '100',
    },
    '1.2.3',
  );
  assert.deepEqual(settings, {
    url: 'http://collector:4318/v1/traces',
    headers: { authorization: 'Basic abc', 'x-tenant': 'a' },
    timeoutMillis: 10_000,
    resource: { 'service.name': 'results', 'service.version': '1.2.3', 'deployment.environment': 'prod' },
    sampling: { parentBased: true, ratio: 0.25 },
    batch: { delayMillis: 100, queueMax: 2048, sizeMax: 512 },
  });
  assert.throws(
    () => traceSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4317', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, ''),
    new TraceSettingsError('OTEL_EXPORTER_OTLP_PROTOCOL is "grpc": expected http/json (OTLP over HTTP, port 4318)'),
  );
});

interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
}

/** OTLP as the collector receives it, as far as the tests look. */
interface SentTraces {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[] }[];
}

/** Records what it receives, and answers with the test's status. */
async function startCollector(t: TestContext, status: () => number) {
  const received: { readonly path: string; readonly spans: readonly SentSpan[] }[] = [];
  const server = createServer(async (request, response) => {
    const { resourceSpans } = (await json(request)) as SentTraces;
    const spans = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans));
    received.push({ path: request.url ?? '', spans });
    response.writeHead(status()).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.close());
  return { received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

function tracingTo(url: string, more: Readonly<Record<string, string>> = {}) {
  const observed: Observation[] = [];
  const settings = traceSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: url, ...more }, '1.2.3');
  assert(settings !== undefined);
  return { tracing: new Tracing(settings, (observation) => observed.push(observation)), observed };
}

async function spansSent(
  t: TestContext,
  requests: readonly AnsweredRequest[],
  more?: Readonly<Record<string, string>>,
) {
  const { received, url } = await startCollector(t, () => 200);
  const { tracing, observed } = tracingTo(url, more);
  for (const request of requests) tracing.observe(request);
  await tracing.shutdown();
  assert.deepEqual(observed, []);
  for (const { path } of received) assert.equal(path, '/v1/traces');
  return received.flatMap(({ spans }) => spans);
}

test('a request is a span in the trace of its client, and each of its stages one below it', async (t) => {
  const sent = await spansSent(t, [answered({ traceparent: `00-${TRACE_ID}-${SPAN_ID}-01` })]);
  const request = sent.find(({ kind }) => kind === 2);
  assert.deepEqual(
    sent.map(({ traceId, parentSpanId, name, startTimeUnixNano, endTimeUnixNano }) => ({
      traceId,
      under: parentSpanId === request?.spanId ? 'the request' : parentSpanId,
      name,
      from: startTimeUnixNano,
      to: endTimeUnixNano,
    })),
    [
      { name: 'resolve', under: 'the request', from: '1709671859000000000', to: '1709671859001500000' },
      { name: 'read', under: 'the request', from: '1709671859001500000', to: '1709671859003500000' },
      { name: 'GET /v1/query/:id/results', under: SPAN_ID, from: '1709671859000000000', to: '1709671859004000000' },
    ].map((span) => ({ traceId: TRACE_ID, ...span })),
  );
  const attributes = Object.fromEntries(request?.attributes.map(({ key, value }) => [key, value]) ?? []);
  assert.deepEqual(attributes, {
    'http.request.method': { stringValue: 'GET' },
    'http.route': { stringValue: '/v1/query/:id/results' },
    'http.response.status_code': { intValue: 200 },
    'http.response.body.size': { intValue: 100 },
    'qrs.request_id': { stringValue: 'r1' },
    'qrs.key_id': { stringValue: 'k1' },
    'qrs.query_id': { intValue: 7 },
    'qrs.rows': { intValue: 2 },
    'qrs.datapoints': { intValue: 4 },
    'qrs.cache': { stringValue: 'miss' },
  });
});

test('a trace stays sampled or unsampled, as it began; new traces are sampled by their share', async (t) => {
  const began = (flags: string) => answered({ requestId: flags, traceparent: `00-${TRACE_ID}-${SPAN_ID}-${flags}` });
  const names = async (sampler: string) => {
    const sent = await spansSent(t, [began('01'), began('00'), answered({ requestId: 'of ours' })], {
      OTEL_TRACES_SAMPLER: sampler,
    });
    const ids = sent.flatMap(({ attributes }) => attributes.filter(({ key }) => key === 'qrs.request_id'));
    return ids.map(({ value }) => value);
  };
  assert.deepEqual(await names('parentbased_always_off'), [{ stringValue: '01' }]);
  assert.deepEqual(await names('parentbased_always_on'), [{ stringValue: '01' }, { stringValue: 'of ours' }]);
  assert.deepEqual(await names('always_off'), []);
});

test('an invalid traceparent begins a new trace', async (t) => {
  const sent = await spansSent(t, [answered({ traceparent: `00-${'0'.repeat(32)}-${SPAN_ID}-01` })]);
  const request = sent.find(({ kind }) => kind === 2);
  assert.equal(request?.parentSpanId, undefined);
  assert.match(request?.traceId ?? '', /^(?!0+$)[0-9a-f]{32}$/);
});

test('spans beyond those being sent and those in the full queue are dropped', async (t) => {
  const requests = Array.from({ length: 20 }, () => answered());
  const sent = await spansSent(t, requests, { OTEL_BSP_MAX_QUEUE_SIZE: '4', OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '2' });
  assert.equal(sent.length, 2 + 4);
});

test('a collector that refuses counts as one fault, and its spans are dropped', async (t) => {
  const { url } = await startCollector(t, () => 400);
  const { tracing, observed } = tracingTo(url);
  tracing.observe(answered());
  await tracing.shutdown();
  assert.equal(observed.length, 1);
  const [fault] = observed;
  assert(fault?.kind === 'fault' && fault.error instanceof Error);
  assert.equal(fault.what, 'sending traces');
  assert.ok(fault.error.message.startsWith(`the collector at ${url} did not take traces: `), fault.error.message);
});
