import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { FakeTime } from '../../../test/fake-time.ts';
import type { AnsweredRequest, Observation } from '../observation.ts';
import { Tally } from '../tally.ts';
import { isSampled, parseTraceparent, spansOf } from './span.ts';
import { TraceExporter } from './trace-exporter.ts';
import { TraceSettingsError, traceSettings } from './trace-settings.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const SPAN_ID = 'b7ad6b7169203331';

function answered(more: Partial<AnsweredRequest> = {}): AnsweredRequest {
  const tally = Object.assign(new Tally(), { queryId: 7, rowCount: 2, datapoints: 4, bodyBytes: 100, cache: 'miss' });
  tally.spent('resolve', 1.5);
  tally.spent('read', 2);
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
    tally,
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
    sampler: { parentBased: true, ratio: 0.25 },
    batch: { delayMillis: 100, queueMax: 2048, sizeMax: 512 },
  });
  assert.throws(
    () => traceSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4317', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, ''),
    new TraceSettingsError('OTEL_EXPORTER_OTLP_PROTOCOL is "grpc": expected http/json (OTLP over HTTP, port 4318)'),
  );
});

test('a trace goes on as it began; others are chosen by their id', () => {
  const parent = parseTraceparent(`00-${TRACE_ID}-${SPAN_ID}-01`);
  assert.deepEqual(parent, { traceId: TRACE_ID, spanId: SPAN_ID, sampled: true });
  assert.equal(parseTraceparent(`00-${'0'.repeat(32)}-${SPAN_ID}-01`), undefined);
  assert.equal(parseTraceparent('nonsense'), undefined);
  assert.equal(isSampled({ parentBased: true, ratio: 0 }, parent, TRACE_ID), true);
  assert.equal(isSampled({ parentBased: false, ratio: 0 }, parent, TRACE_ID), false);
  assert.equal(isSampled({ parentBased: true, ratio: 1 }, undefined, TRACE_ID), true);
});

test('a request is a span, and each of its stages one below it', () => {
  let number = 0;
  const newSpanId = () => {
    number += 1;
    return `span${number}`;
  };
  const spans = spansOf({ request: answered(), traceId: TRACE_ID, parentSpanId: SPAN_ID }, newSpanId);
  assert.deepEqual(
    spans.map((span) => ({ ...span, attributes: undefined })),
    [
      {
        traceId: TRACE_ID,
        spanId: 'span1',
        parentSpanId: SPAN_ID,
        name: 'GET /v1/query/:id/results',
        kind: 2,
        startTimeUnixNano: '1709671859000000000',
        endTimeUnixNano: '1709671859004000000',
        attributes: undefined,
      },
      {
        traceId: TRACE_ID,
        spanId: 'span2',
        parentSpanId: 'span1',
        name: 'resolve',
        kind: 1,
        startTimeUnixNano: '1709671859000000000',
        endTimeUnixNano: '1709671859001500000',
        attributes: undefined,
      },
      {
        traceId: TRACE_ID,
        spanId: 'span3',
        parentSpanId: 'span1',
        name: 'read',
        kind: 1,
        startTimeUnixNano: '1709671859001500000',
        endTimeUnixNano: '1709671859003500000',
        attributes: undefined,
      },
    ],
  );
});

/** Takes what is sent to it, and answers as it is told. */
async function startCollector(t: TestContext, status: () => number) {
  const received: { readonly path: string; readonly body: unknown }[] = [];
  const server = createServer(async (request, response) => {
    received.push({ path: request.url ?? '', body: await json(request) });
    response.writeHead(status()).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.close());
  return { received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

function exporterTo(url: string) {
  const time = new FakeTime(0);
  const observed: Observation[] = [];
  const settings = traceSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_BSP_MAX_QUEUE_SIZE: '2' }, '1.2.3');
  assert(settings !== undefined);
  const exporter = new TraceExporter(settings, {
    randomBytes: (length) => new Uint8Array(length).fill(0xab),
    sleep: time.sleep,
    fetch,
    observe: (observation) => observed.push(observation),
  });
  return { exporter, observed };
}

test('spans reach the collector, what is left when the service stops too, and no more than the queue holds', async (t) => {
  const { received, url } = await startCollector(t, () => 200);
  const { exporter, observed } = exporterTo(url);
  const stop = new AbortController();
  const running = exporter.run(stop.signal);
  for (const requestId of ['r1', 'r2', 'r3']) exporter.observe(answered({ requestId }));
  stop.abort(new Error('stopping'));
  await running;
  assert.deepEqual(observed, []);
  const [first, ...more] = received;
  assert.deepEqual(more, []);
  assert.equal(first?.path, '/v1/traces');
  const text = JSON.stringify(first?.body);
  assert.match(text, /"r1"/);
  assert.match(text, /"r2"/);
  assert.doesNotMatch(text, /"r3"/);
});

test('a collector that refuses is one fault, and what was for it is dropped', async (t) => {
  const { url } = await startCollector(t, () => 500);
  const { exporter, observed } = exporterTo(url);
  const stop = new AbortController();
  const running = exporter.run(stop.signal);
  exporter.observe(answered());
  stop.abort(new Error('stopping'));
  await running;
  assert.deepEqual(observed, [
    { kind: 'fault', what: 'sending traces', error: new Error(`the collector at ${url} answered 500`) },
  ]);
});
