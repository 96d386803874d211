/**
 * Contract §9: results over HTTP. Whatever is wrong with a body, nothing changes, and the answer says what is wrong and where.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { allRowsOf } from '../../src/domain/result-set.ts';
import type { HttpService } from './http-service.ts';
import { assertRefused } from './http-writer.ts';
import { assertUntouched, CSV, start } from './publishing-service.ts';

async function rowsOf(service: HttpService, id: unknown): Promise<unknown> {
  const { result } = await service.json(`/v1/execution/${id}/results`);
  return (result as { readonly rows: unknown }).rows;
}

test('a file becomes a finished run: CSV, NDJSON, Parquet, plain and compressed, typed, with parameters', async (t) => {
  const { service, send } = await start({}, t);
  const rows = [
    { wallet: '0xd8da', amount: 1520.5 },
    { wallet: '0xab58', amount: 7 },
  ];
  const ndjson = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  const sent = [
    [CSV, { 'content-type': 'text/csv' }],
    [CSV, { 'content-type': 'application/x-www-form-urlencoded' }],
    [Buffer.from(`\ufeff${CSV}`, 'utf16le'), { 'content-type': 'text/csv; charset=utf-16' }],
    [CSV, { 'content-type': 'text/csv; charset=latin1' }],
    [ndjson, { 'content-type': 'application/x-ndjson' }],
    [ndjson, { 'content-type': 'application/octet-stream' }],
    [gzipSync(CSV), { 'content-type': 'text/csv', 'content-encoding': 'gzip' }],
    [zstdCompressSync(ndjson), { 'content-type': 'application/jsonl', 'content-encoding': 'zstd' }],
    [gzipSync(CSV), { 'content-type': 'text/csv' }],
  ] as const;
  let last = '';
  for (const [body, headers] of sent) {
    const answer = await send('POST', '/v1/query/7/results', { body, headers });
    assert.equal(answer.status, 201, answer.text);
    const { execution_id, state, query_id, is_execution_finished, result } = answer.json;
    assert.deepEqual([state, query_id, is_execution_finished, result], ['QUERY_STATE_COMPLETED', 7, true, undefined]);
    assert.deepEqual(await rowsOf(service, execution_id), rows);
    last = String(execution_id);
  }
  const parquet = await (await service.get(`/v1/execution/${last}/results?format=parquet`)).bytes();
  const typed = '/v1/query/7/results?params.chain=base&params.day=2024-03-05&types=amount%3Ddecimal(10,%203)';
  const again = await send('POST', '/v1/query/7/results', {
    body: parquet,
    headers: { 'content-type': 'application/vnd.apache.parquet' },
  });
  assert.deepEqual(await rowsOf(service, again.json.execution_id), rows);
  const exact = await send('POST', typed, { body: CSV, headers: { 'content-type': 'text/csv' } });
  const latest = await service.json('/v1/query/7/results?params.chain=base&params.day=2024-03-05');
  assert.equal(latest.execution_id, exact.json.execution_id);
  assert.deepEqual(await rowsOf(service, exact.json.execution_id), [
    { wallet: '0xd8da', amount: '1520.500' },
    { wallet: '0xab58', amount: '7.000' },
  ]);
});

test('a run that an engine elsewhere carries out: begun, started, and finished with a file, or failed, or cancelled', async (t) => {
  const { service, send } = await start({}, t);
  const begin = async (body?: object) => (await send('POST', '/v1/query/7/executions', body && { body })).json;
  const run = await begin({ query_parameters: { chain: 'base', n: 5, on: true } });
  const { execution_id: id } = run;
  assert.deepEqual([run.state, run.is_execution_finished], ['QUERY_STATE_PENDING', false]);
  assert.deepEqual((await (await service.catalog()).executions.find(String(id)))?.parameters, {
    chain: 'base',
    n: '5',
    on: 'true',
  });
  assert.equal((await send('POST', `/v1/execution/${id}/start`)).json.state, 'QUERY_STATE_EXECUTING');
  const twice = await send('POST', `/v1/execution/${id}/start`);
  assertRefused(twice, 409, 'illegal_transition', `execution ${id} is EXECUTING: it cannot become EXECUTING`);
  assert.equal(twice.json.state, 'QUERY_STATE_EXECUTING');
  const put = await send('PUT', `/v1/execution/${id}/results`, { body: CSV, headers: { 'content-type': 'text/csv' } });
  assert.deepEqual([put.status, put.json.execution_id, put.json.state], [201, id, 'QUERY_STATE_COMPLETED']);
  const late = await send('PUT', `/v1/execution/${id}/results`, { body: CSV });
  assertRefused(late, 409, 'illegal_transition', `execution ${id} is COMPLETED: it cannot become COMPLETED`);
  assert.equal(late.json.state, 'QUERY_STATE_COMPLETED');

  const { execution_id: failing } = await begin();
  const error = { type: 'syntax', message: 'no such table', metadata: { line: 3, column: 8 } };
  const failed = await send('POST', `/v1/execution/${failing}/fail`, { body: error });
  assert.deepEqual([failed.json.state, failed.json.error], ['QUERY_STATE_FAILED', error]);
  const { execution_id: cancelling } = await begin();
  assert.equal((await send('POST', `/v1/execution/${cancelling}/cancel`)).text, '{"success":true}');
  const { cancelled_at } = await service.json(`/v1/execution/${cancelling}/status`);
  assert.equal(typeof cancelled_at, 'string');
  for (const [step, body] of [
    ['fail', {}],
    ['fail', { message: 'x', metadata: { column: 5 } }],
    ['start', { at: 5 }],
  ] as const) {
    const { execution_id } = await begin();
    assertRefused(await send('POST', `/v1/execution/${execution_id}/${step}`, { body }), 400, 'invalid_body', /./);
    await send('POST', `/v1/execution/${execution_id}/cancel`);
  }
});

test('a run whose result has expired, swept or not, is told as expired', async (t) => {
  const { service, send } = await start({}, t);
  const { json } = await send('POST', '/v1/query/7/results', { body: CSV, headers: { 'content-type': 'text/csv' } });
  service.commandLine.now += 91 * 86_400_000;
  const at = `/v1/execution/${json.execution_id}`;
  for (const sent of [
    await send('PUT', `${at}/results`, { body: CSV, headers: { 'content-type': 'text/csv' } }),
    await send('POST', `${at}/start`),
    await send('POST', `${at}/fail`, { body: { message: 'x' } }),
    await send('POST', `${at}/cancel`),
  ]) {
    assertRefused(sent, 409, 'illegal_transition', /is EXPIRED: its result is no longer kept/);
    assert.equal(sent.json.state, 'QUERY_STATE_EXPIRED');
  }
});

test('numbers as parameters keep every digit, those too that a double cannot hold', async (t) => {
  const { send } = await start({}, t);
  const values = async (sent: string) => {
    const { json } = await send('POST', '/v1/query/7/executions', { body: `{"query_parameters":{${sent}}}` });
    return json.query_parameters;
  };
  const beyond = '"a":12345678901234567890,"b":-0.12345678901234567891,"c":1e400,"d":9007199254740993';
  assert.deepEqual(await values(beyond), {
    a: '12345678901234567890',
    b: '-0.12345678901234567891',
    c: '1e400',
    d: '9007199254740993',
  });
  const within = '"a":1.50,"b":-0,"c":15e-1,"d":9007199254740992,"e":0.1,"f":100,"g":1.7976931348623157e308';
  assert.deepEqual(await values(within), {
    a: '1.5',
    b: '0',
    c: '1.5',
    d: '9007199254740992',
    e: '0.1',
    f: '100',
    g: '1.7976931348623157e+308',
  });
  const problem = 'query_id: found 12345678901234567890, expected a whole number from 1 to 9007199254740991';
  const body = '{"query_id":12345678901234567890}';
  assertRefused(await send('POST', '/v1/query', { body }), 400, 'invalid_body', problem);
  const parameters = '[{"key":"id","type":"number","value":12345678901234567890}]';
  assert.equal((await send('PATCH', '/v1/query/7', { body: `{"parameters":${parameters}}` })).status, 200);
  const { json } = await send('GET', '/v1/query/7');
  assert.deepEqual(json.parameters, [{ key: 'id', type: 'number', value: '12345678901234567890' }]);
});

test('a body that is not what its headers say changes nothing', async (t) => {
  const { service, send } = await start({ QRS_UPLOAD_MAX: '100000' }, t);
  const sha256 = (body: string) => `sha-256=:${createHash('sha256').update(body).digest('base64')}:`;
  const csv = { 'content-type': 'text/csv' };
  const refusals: readonly (readonly [string | Uint8Array, Record<string, string>, number, string, string | RegExp])[] =
    [
      [CSV, { 'content-type': 'application/vnd.apache.parquet' }, 400, 'invalid_result', /Parquet/],
      ['a,b\n1\n', csv, 400, 'invalid_result', /record 2|line 2/],
      ['<!doctype html><html><body>502</body></html>', csv, 400, 'invalid_result', /HTML/],
      ['', csv, 400, 'invalid_result', /empty/],
      [
        CSV,
        { ...csv, 'content-encoding': 'gzip' },
        400,
        'invalid_result',
        'the file is said to be gzip, and is not: it is not compressed',
      ],
      [
        gzipSync(CSV),
        { ...csv, 'content-encoding': 'zstd' },
        400,
        'invalid_result',
        'the file is said to be zstd, and is not: it is gzip',
      ],
      [gzipSync(CSV).subarray(0, 30), { ...csv, 'content-encoding': 'gzip' }, 400, 'invalid_result', /ends early/],
      [
        gzipSync(`n\n${'0\n'.repeat(60_000)}`),
        csv,
        413,
        'body_too_large',
        'the file has more than 100000 bytes when it is decompressed',
      ],
      [
        CSV,
        { ...csv, 'content-encoding': 'br' },
        415,
        'unsupported_media_type',
        'Content-Encoding: found "br", expected gzip, zstd or none',
      ],
      [
        CSV,
        { 'content-type': 'text/html' },
        415,
        'unsupported_media_type',
        /^Content-Type: found "text\/html", expected one of application\/vnd/,
      ],
      [
        CSV,
        { 'content-type': 'text/csv; charset=ebcdic' },
        415,
        'unsupported_media_type',
        'the charset of Content-Type: found "ebcdic", expected one of utf-8, utf8, us-ascii, utf-16, utf-16le, utf-16be, iso-8859-1, latin1, latin-1, windows-1252',
      ],
      [
        Buffer.from('name\ngr\xf6\xdfe\n', 'latin1'),
        csv,
        400,
        'invalid_result',
        'line 2: the text is not UTF-8: say what it is, or save it as UTF-8 (Content-Type: text/csv; charset=iso-8859-1, windows-1252, utf-16)',
      ],
      [
        '{"error":"no key"}\n',
        { 'content-type': 'application/x-ndjson' },
        400,
        'invalid_result',
        /declare its types \(\?types=error=varchar\)$/,
      ],
      [
        CSV,
        { 'content-type': 'text/csv; header=absent' },
        415,
        'unsupported_media_type',
        'the header of Content-Type: found "absent", expected present: a line with the names of the columns',
      ],
      [
        CSV,
        { ...csv, 'content-range': 'bytes 20-39/40' },
        400,
        'invalid_result',
        'Content-Range: found "bytes 20-39/40", expected none: a file is sent whole, in one request',
      ],
      [
        CSV,
        { 'content-type': 'csv' },
        415,
        'unsupported_media_type',
        'Content-Type: found "csv", expected a type and a subtype, as in text/csv, or none',
      ],
      [
        CSV,
        { ...csv, 'content-digest': sha256(`${CSV} `) },
        400,
        'digest_mismatch',
        /^Content-Digest: the body that arrived has sha-256=:/,
      ],
      [
        CSV,
        { ...csv, 'content-digest': 'md5=:AAAA:' },
        400,
        'invalid_digest',
        /^Content-Digest: found "md5=:AAAA:", expected sha-256/,
      ],
      [
        CSV,
        { ...csv, 'content-digest': 'sha-256=nonsense' },
        400,
        'invalid_digest',
        /^Content-Digest: found "sha-256=nonsense"/,
      ],
      ['n\n'.repeat(60_000), csv, 413, 'body_too_large', 'the body has more than 100000 bytes, which is the most'],
    ];
  for (const [body, headers, status, code, error] of refusals) {
    assertRefused(await send('POST', '/v1/query/7/results', { body, headers }), status, code, error);
  }
  const parameters = [
    ['types=amount', 'types: A declaration is COLUMN=TYPE; "amount" is none.'],
    ['types=amount%3Dmoney', /^types: Column "amount": type "money", position 1/],
    ['params.a=1&params.a=2', /^params\.a: sent 2 times/],
  ] as const;
  for (const [query, error] of parameters) {
    const sent = await send('POST', `/v1/query/7/results?${query}`, { body: CSV, headers: csv });
    assertRefused(sent, 400, 'invalid_parameter', error);
  }
  await assertUntouched(service);
  const whole = { ...csv, 'content-digest': `${sha256(CSV)}, unknown=:AAAA:` };
  assert.equal((await send('POST', '/v1/query/7/results', { body: CSV, headers: whole })).status, 201);
  assert.deepEqual(service.faults, []);
});

test('CSV out of which curl has left the line ends is no result without rows, and is told with what to do', async (t) => {
  const { send } = await start({}, t);
  const curl = { 'user-agent': 'curl/8.5.0' };
  const said =
    'the file is one line of names, and names without rows have a line end, too; no line end came: curl leaves them out of what it sends by -d @file; send it by -T file, or --data-binary @file';
  const typed = { ...curl, 'content-type': 'text/csv' };
  const untyped = { ...curl, 'content-type': 'application/x-www-form-urlencoded' };
  for (const headers of [typed, untyped]) {
    const answer = await send('POST', '/v1/query/7/results', { body: 'name,amountann,1bob,2', headers });
    assertRefused(answer, 400, 'invalid_result', said);
  }
  for (const [body, headers] of [
    ['name,amount\n', typed],
    ['name,amount\r\nann,1', untyped],
    ['{"name":"ann"}', untyped],
    [gzipSync('name,amount\n'), untyped],
    ['name,amount', { 'content-type': 'text/csv' }],
    // By -T.
    [Buffer.from('name,amount'), curl],
  ] as const) {
    const answer = await send('POST', '/v1/query/7/results', { body, headers });
    assert.equal(answer.status, 201, answer.text);
  }
});

test('what else curl has sent without its line ends, and cannot be read, is told with what to do, too', async (t) => {
  const { send } = await start({}, t);
  const publish = async (body: string, headers: Readonly<Record<string, string>>) =>
    await send('POST', '/v1/query/7/results', { body, headers });
  const curl = { 'user-agent': 'curl/8.5.0', 'content-type': 'application/x-ndjson' };
  const said = 'line 1: the JSON cannot be read: something follows the object';
  const told =
    '; no line end came: curl leaves them out of what it sends by -d @file; send it by -T file, or --data-binary @file';
  assertRefused(await publish('{"n":1}{"n":2}', curl), 400, 'invalid_result', said + told);
  assertRefused(await publish('{"n":1}{"n":2}\n', curl), 400, 'invalid_result', said);
  const other = { 'content-type': 'application/x-ndjson' };
  assertRefused(await publish('{"n":1}{"n":2}', other), 400, 'invalid_result', said);
  const mistyped = await send('POST', '/v1/query/7/results?types=n=bigint', { body: '{"n":"x"}', headers: curl });
  assertRefused(mistyped, 400, 'invalid_result', 'row 1, column "n": "\\"x\\"" cannot be stored as bigint');
  const none = 'the file has no object with a key, so there are no columns';
  assertRefused(await publish('', curl), 400, 'invalid_result', none);
});

test('of several digests of one algorithm the last counts, and each must have its length', async (t) => {
  const { service, send } = await start({}, t);
  const [right, wrong] = [CSV, 'other'].map((body) => createHash('sha256').update(body).digest('base64'));
  const publish = async (digest: string) =>
    await send('POST', '/v1/query/7/results', {
      body: CSV,
      headers: { 'content-type': 'text/csv', 'content-digest': digest },
    });
  for (const digest of [
    'sha-256=::',
    'sha-256=:AAAA:',
    `sha-512=:${right}:`,
    `sha-256=:${right}:, sha-512=:${right}:`,
  ]) {
    assertRefused(await publish(digest), 400, 'invalid_digest', /^Content-Digest: found "sha-(256|512)=:/);
  }
  assertRefused(await publish(`sha-256=:${right}:,sha-256=:${wrong}:`), 400, 'digest_mismatch', /expected sha-256=:/);
  await assertUntouched(service);
  assert.equal((await publish(`sha-256=:${wrong}:,sha-256=:${right}:`)).status, 201);
  assert.equal((await publish(`${'sha-256=::,'.repeat(1000)}sha-256=:${right}:`)).status, 201);
});

test('parameters of a run have the same bounds in an address as in a body', async (t) => {
  const { service, send } = await start({}, t);
  const publish = async (query: string) =>
    await send('POST', `/v1/query/7/results?${query}`, { body: CSV, headers: { 'content-type': 'text/csv' } });
  const named = (count: number) => Array.from({ length: count }, (_, i) => `params.p${i}=${i}`).join('&');
  const says = "params.*: a parameter's name has at most 100 characters, its value 2000";
  const many = 'params.*: a run has at most 100 parameters';
  assertRefused(await publish(named(101)), 400, 'invalid_parameter', many);
  assertRefused(await publish(`params.${'n'.repeat(101)}=1`), 400, 'invalid_parameter', says);
  assertRefused(await publish(`params.n=${'1'.repeat(2001)}`), 400, 'invalid_parameter', says);
  assertRefused(await publish('params.=1'), 400, 'invalid_parameter', 'params.*: a parameter has a name');
  await assertUntouched(service);
  const { execution_id: id } = (await publish(named(100))).json;
  assert.equal((await service.json(`/v1/query/7/results?${named(100)}`)).execution_id, id);
  for (const count of [101, 1000]) {
    const none = await service.get(`/v1/query/7/results?${named(count)}`);
    assert.deepEqual([none.status, none.headers.get('x-error-code')], [404, 'no_execution_found']);
  }
  assert.deepEqual(service.faults, []);
});

test('an archived query is served, and takes no new results', async (t) => {
  const { service, send } = await start({}, t);
  const csv = { body: CSV, headers: { 'content-type': 'text/csv' } };
  await send('POST', '/v1/query/7/results', csv);
  const { execution_id: begun } = (await send('POST', '/v1/query/7/executions')).json;
  await send('POST', '/v1/query/7/archive');
  const says = 'query 7 is archived: it is served, not run; unarchive it first';
  assertRefused(await send('POST', '/v1/query/7/results', csv), 400, 'query_not_runnable', says);
  assertRefused(await send('POST', '/v1/query/7/executions'), 400, 'query_not_runnable', says);
  assertRefused(await send('POST', '/v1/query/7/execute'), 400, 'query_not_runnable', says);
  assert.equal((await service.get('/v1/query/7/results')).status, 200);
  assert.equal((await send('PUT', `/v1/execution/${begun}/results`, csv)).status, 201);
});

test('what was published comes back, with the same bytes on disk as by `qrs publish`', async (t) => {
  const { service, send } = await start({}, t);
  const lines = Array.from({ length: 40_000 }, (_, n) => `${n},${n % 7 === 0 ? '' : `w${n}`}`).join('\n');
  const csv = `n,word\n${lines}\n`;
  const sent = await send('POST', '/v1/query/7/results', { body: csv, headers: { 'content-type': 'text/csv' } });
  const published = await service.publish(7, csv);
  const catalog = await service.catalog();
  const bytes = async (id: string) => {
    const parts = (await catalog.executions.findResultSet(id))?.parts ?? [];
    const store = await service.store();
    return await Promise.all(
      parts.map(async (part) => {
        await using opened = await store.open(part, allRowsOf(part), t.signal);
        return await readFile(opened.path);
      }),
    );
  };
  assert.deepEqual(await bytes(String(sent.json.execution_id)), await bytes(published.id));
  const all = await service.get(
    `/v1/execution/${sent.json.execution_id}/results/csv?ignore_max_datapoints_per_request=1`,
  );
  assert.equal(await all.text(), csv);
});
