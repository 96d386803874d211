/** A query that runs on Trino, from the request to the rows that are read; Trino is one that the test drives. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeCoordinator } from '../contract/fake-coordinator.ts';
import { column, json, signature, text } from '../contract/trino-on-fake.ts';
import { startRunningService } from './running-service.ts';

test('a query is checked, run and read with every type and digit that Trino gave', async (t) => {
  await using fake = await FakeCoordinator.start();
  const service = await startRunningService(t, {}, { QRS_ENGINE_URL: `trino://qrs@127.0.0.1:${fake.port}/lake` });
  const columns = [
    column('big', 'bigint'),
    column('wide', 'decimal', 38, 10),
    column('at', 'timestamp with time zone', 3),
    column('t9', 'timestamp', 9),
    column('pause', 'interval day to second'),
    column('j', 'json'),
    column('list', 'array', signature('varchar', 2147483647)),
    column('bytes', 'varbinary'),
  ];
  const row =
    '[9223372036854775807,"-1234567890123456789012345678.0123456789","2024-03-05 20:50:59.123 UTC","2024-03-05 20:50:59.123456789","1 02:03:04.500","{\\"n\\":1.50}",["a",null],"AAH/"]';
  fake.steps(json({ columns }));
  const added = await service.send('POST', '/v1/query', { name: 'on Trino', query_sql: 'SELECT * FROM a.b LIMIT 1' });
  assert.equal(added.status, 201, JSON.stringify(added.body));
  fake.steps(text(JSON.stringify({ columns, stats: {}, id: 'q1' }).replace(/\}$/, `,"data":[${row}]}`)));
  const executed = await service.send('POST', `/v1/query/${added.body.query_id}/execute`, {});
  const done = service.next('completed');
  service.startRunner();
  await done;
  const answer = await fetch(`${service.url}/v1/execution/${executed.body.execution_id}/results`, {
    headers: { 'x-service-api-key': service.key },
  });
  const body = await answer.text();
  const [, types] = /"column_types":(\[.*?\])/.exec(body) ?? [];
  assert.deepEqual(JSON.parse(types ?? ''), [
    'bigint',
    'decimal(38, 10)',
    'timestamp(3) with time zone',
    'timestamp(9)',
    'interval',
    'json',
    'array(varchar)',
    'varbinary',
  ]);
  const [, rows] = /"rows":(\[\{.*?\}\])/.exec(body) ?? [];
  assert.equal(
    rows,
    '[{"big":9223372036854775807,"wide":"-1234567890123456789012345678.0123456789","at":"2024-03-05 20:50:59.123 UTC","t9":"2024-03-05 20:50:59.123456789","pause":"1 day 02:03:04.5","j":"{\\"n\\":1.50}","list":["a",null],"bytes":"0x0001ff"}]',
  );
  assert.deepEqual(service.faults, []);
});

test('what Trino refuses is refused when the query is added, with its place', async (t) => {
  await using fake = await FakeCoordinator.start();
  const service = await startRunningService(t, {}, { QRS_ENGINE_URL: `trino://qrs@127.0.0.1:${fake.port}/lake` });
  const errorLocation = { lineNumber: 2, columnNumber: 8 };
  const message = "line 2:8: Column 'nothing' cannot be resolved";
  fake.steps(json({ error: { message, errorName: 'COLUMN_NOT_FOUND', errorType: 'USER_ERROR', errorLocation } }));
  const { status, body } = await service.send('POST', '/v1/query', { name: 'x', query_sql: 'SELECT nothing FROM a.b' });
  assert.deepEqual([status, body.error], [400, "line 1, column 8: Column 'nothing' cannot be resolved"]);
  const dropped = await service.send('POST', '/v1/query', { name: 'x', query_sql: 'DROP TABLE a.b' });
  assert.deepEqual(
    [dropped.status, dropped.body.error],
    [400, 'line 1, column 1: a query is one SELECT, and nothing else'],
  );
});
