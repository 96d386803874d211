/** `/metrics`, and the dashboard that shows it. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { startHttpService } from './http-service.ts';

/** Every sample: `name{labels}` to its value. */
function samplesOf(text: string): ReadonlyMap<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}

/** Names of metrics; a histogram has three. */
function namesOf(text: string): readonly string[] {
  return [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = '', kind]) =>
    kind === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  );
}

test('requests, stages, rows, bytes, caches, queues, DuckDB, catalog, datasets', async (t) => {
  const service = await startHttpService(t);
  await service.publish(7, 'n,w\n1,x\n2,y\n');
  for (let number = 0; number < 2; number += 1) await (await service.get('/v1/query/7/results?api_key=secret')).text();
  await (await service.get('/v1/nothing')).text();
  await (await service.get('/v1/query/7/results', { key: 'qrs_wrong' })).text();
  const text = await (await service.get('/metrics', { key: '' })).text();
  const samples = samplesOf(text);
  const value = (sample: string) => samples.get(sample);
  assert.equal(value('qrs_http_requests_total{route="/v1/query/:id/results",status="200"}'), 2);
  assert.equal(value('qrs_http_requests_total{route="/v1/query/:id/results",status="401"}'), 1);
  assert.equal(value('qrs_http_requests_total{route="none",status="404"}'), 1);
  assert.equal(value('qrs_http_errors_total{code="route_not_found"}'), 1);
  assert.equal(value('qrs_http_request_duration_seconds_count{route="/v1/query/:id/results"}'), 3);
  assert.equal(value('qrs_stage_duration_seconds_count{stage="read"}'), 1);
  assert.equal(value('qrs_rows_total'), 4);
  assert.equal(value('qrs_datapoints_total'), 8);
  assert.equal(value('qrs_page_cache_requests_total{outcome="hit"}'), 1);
  assert.equal(value('qrs_page_cache_requests_total{outcome="miss"}'), 1);
  assert((value('qrs_cache_bytes{cache="pages"}') ?? 0) > 0);
  assert.equal(value('qrs_queue_waiting{queue="heavy"}'), 0);
  assert.equal(value('qrs_queue_running{queue="exports"}'), 0);
  assert((value('qrs_duckdb_memory_bytes{instance="reads"}') ?? -1) >= 0);
  assert((value('qrs_catalog_latency_seconds') ?? 0) > 0);
  assert.equal(value('qrs_http_requests_under_way'), 1, 'the one that asks');
  assert.equal(value('qrs_publishing_under_way'), 0);
  assert.equal(value('qrs_newest_result_timestamp_seconds{state="completed"}'), service.commandLine.now / 1000);
  assert((value('process_resident_memory_bytes') ?? 0) > 0);
  assert.doesNotMatch(text, /secret|qrs_wrong/);
});

test('memory of answers that may be sent again, and disk of Parquet answers', async (t) => {
  const service = await startHttpService(t);
  await service.publish(7, 'n,w\n1,x\n2,y\n');
  const gauges = async () => {
    const samples = samplesOf(await (await service.get('/metrics', { key: '' })).text());
    return [samples.get('qrs_cache_bytes{cache="answers"}') ?? 0, samples.get('qrs_parquet_bytes')];
  };
  assert.deepEqual(await gauges(), [0, 0]);
  // The first reads the page, the second finds it in memory and keeps its answer.
  for (let number = 0; number < 2; number += 1) await (await service.get('/v1/query/7/results')).text();
  const [answers, parquet] = await gauges();
  assert((answers ?? 0) > 0);
  assert.equal(parquet, 0);
});

test('every metric on the dashboard exists, and the dashboard leaves out none of ours', async (t) => {
  const service = await startHttpService(t);
  const there = namesOf(await (await service.get('/metrics')).text());
  const dashboard = await readFile(join(import.meta.dirname, '../../docs/grafana-dashboard.json'), 'utf8');
  const panels = (
    JSON.parse(dashboard) as { panels: { title: string; description?: string; targets?: { expr: string }[] }[] }
  ).panels;
  const expressions = panels.flatMap(({ targets }) => targets ?? []).map(({ expr }) => expr);
  const shown = new Set(expressions.flatMap((expr) => expr.match(/\b(?:qrs|process|nodejs)_\w+/g) ?? []));
  assert.deepEqual(
    [...shown].filter((name) => !there.includes(name)),
    [],
  );
  const unexplained = panels.filter(
    ({ targets, description = '' }) => targets !== undefined && description.length < 10,
  );
  assert.deepEqual(
    unexplained.map(({ title }) => title),
    [],
  );
  const whole = (name: string) => name.replace(/_(bucket|sum|count)$/, '');
  const shownWhole = new Set([...shown].map(whole));
  assert.deepEqual(
    there.filter((name) => name.startsWith('qrs_') && !shownWhole.has(whole(name))),
    [],
  );
});
