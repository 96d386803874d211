/** `qrs rows` and `qrs open`: the same rows from the data directory and from a service, for people and for programs. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { type CommandLine, makeCommandLine } from './command.ts';
import { openServer } from './http-service.ts';

const TRADES = [
  'chain,day,volume,amount,note',
  'base,2024-03-05,12345678901234567890,0.10,"two\nlines"',
  'ethereum,2024-03-06,7,1.50,',
  'base,2024-03-07,9007199254740993,2.25,""',
  '',
].join('\n');

async function serveDirectory(t: TestContext, qrs: CommandLine): Promise<string> {
  const { server, close } = await openServer(qrs, {});
  t.after(close);
  return server.url;
}

/** A data directory with query 100 and its latest run, private to ann. */
async function withTrades(t: TestContext) {
  const qrs = await makeCommandLine(t);
  await qrs.get('users', 'add', 'ann');
  await qrs.get('queries', 'add', '--id', '100', '--user', 'ann', '--private');
  const types = 'volume=uint256,amount=decimal(10, 2)';
  const { out } = await qrs.run(['publish', '-', '--query', '100', '--format', 'csv', '--types', types], TRADES);
  return { qrs, id: out.trim() };
}

const TABLE = [
  'chain     day                       volume  amount  note',
  'base      2024-03-05  12345678901234567890    0.10  two\\nlines',
  'ethereum  2024-03-06                     7    1.50  null',
  'base      2024-03-07      9007199254740993    2.25',
  '',
].join('\n');

test('a table on a terminal has every digit, tells null from empty text, and holds nothing that a terminal would obey', async (t) => {
  const { qrs, id } = await withTrades(t);
  const { code, out, err } = await qrs.onTerminal('rows', '100');
  assert.deepEqual([code, out], [0, TABLE]);
  assert.equal(err, `1 to 3 of 3 rows (run ${id} of 2024-03-05 20:50:59)\n`);
});

test('filter, sort, columns, limit and offset; the last line says how many rows there are beyond', async (t) => {
  const { qrs, id } = await withTrades(t);
  const asked = ['rows', '100', '--filter', "chain = 'base'", '--sort', 'volume desc', '--columns', 'volume,day'];
  const { out, err } = await qrs.onTerminal(...asked, '--limit', '1');
  assert.equal(out, '              volume  day\n12345678901234567890  2024-03-05\n');
  assert.match(err, /^1 to 1 of (2|those) that match, in 3 rows; more: --offset 1 \(run /);
  const second = await qrs.onTerminal(...asked, '--limit', '1', '--offset', '1');
  assert.equal(second.out, '          volume  day\n9007199254740993  2024-03-07\n');
  assert.equal(await qrs.get('rows', '100', '--search', 'NO SUCH', '--columns', 'volume'), 'volume');
  const none = await qrs.onTerminal('rows', id.toLowerCase(), '--filter', "chain = 'none'");
  assert.equal(none.out, 'chain  day  volume  amount  note\n');
  assert.match(none.err, /^no rows of (0|those) that match, in 3 rows \(run /);
});

test('in a pipe: CSV as the service writes it; JSON and NDJSON on request', async (t) => {
  const { qrs, id } = await withTrades(t);
  assert.equal(await qrs.get('rows', '100'), TRADES.trimEnd());
  assert.equal(
    await qrs.get('rows', '100', '--format', 'ndjson', '--columns', 'volume', '--limit', '1'),
    '{"volume":"12345678901234567890"}',
  );
  const document = JSON.parse(await qrs.get('rows', '100', '--json', '--columns', 'amount', '--sort', 'amount desc'));
  assert.match((await qrs.run(['rows', '100', '--json'])).out, /^\{[^\n]*\}\n$/);
  assert.equal(document.execution_id, id);
  assert.deepEqual(document.result.rows, [{ amount: '2.25' }, { amount: '1.50' }, { amount: '0.10' }]);
});

test('from a service, with a key: the same bytes', async (t) => {
  const { qrs } = await withTrades(t);
  const key = await qrs.get('keys', 'create', '--user', 'ann');
  const url = await serveDirectory(t, qrs);
  const away = await makeCommandLine(t, { QRS_URL: `${url}/`, QRS_KEY: key });
  assert.equal((await away.onTerminal('rows', '100')).out, TABLE);
  for (const words of [
    ['rows', '100'],
    ['rows', '100', '--json'],
    ['rows', '100', '--filter', 'volume > 7', '--sort', 'day desc'],
  ]) {
    assert.equal(await away.get(...words), await qrs.get(...words), words.join(' '));
  }
  for (const words of [
    ['rows', '7'],
    ['rows', '100', '--filter', 'colour = 1'],
    ['rows', '100', '--columns', 'x'],
  ]) {
    const [there, here] = [await away.run(words), await qrs.run(words)];
    assert.deepEqual([there.code, there.out, there.err], [1, '', here.err], words.join(' '));
  }
  const stranger = await makeCommandLine(t, { QRS_URL: url, QRS_KEY: 'qrs_wrong' });
  assert.equal((await stranger.run(['rows', '100'])).err, 'error: invalid API Key (QRS_KEY)\n');
  const versioned = await makeCommandLine(t, { QRS_URL: `${url}/v1`, QRS_KEY: key });
  assert.equal(
    (await versioned.run(['rows', '100'])).err,
    'error: not found: GET /v1/v1/query/100/results: /v1 is there twice; clients add it to the address that they are given (QRS_URL)\n',
  );
  const keyless = await makeCommandLine(t, { QRS_URL: url });
  const { code, err } = await keyless.run(['rows', '100']);
  assert.deepEqual([code, err], [2, 'error: QRS_URL names a service, and QRS_KEY is not set: it needs a key\n']);
});

test('errors are explained, with exit code 1, and wrong words with 2', async (t) => {
  const { qrs } = await withTrades(t);
  const failed = await qrs.get('executions', 'submit', '--query', '100');
  await qrs.get('executions', 'fail', failed, '--message', 'no table trades');
  for (const format of ['table', 'json']) {
    const { code, out, err } = await qrs.run(['rows', failed, '--format', format]);
    assert.deepEqual(
      [code, out, err],
      [1, '', `error: execution ${failed} is FAILED and has no result: no table trades\n`],
    );
  }
  assert.match(
    (await qrs.run(['rows', failed])).err,
    /^error: Query state is QUERY_STATE_FAILED, cannot provide CSV result/,
  );
  assert.equal((await qrs.run(['rows', '7'])).err, 'error: not found: Query not found or private\n');
  assert.match((await qrs.run(['rows', '100', '--filter', 'chian = 1'])).err, /^error: .*chian.*chain/);
  for (const odd of ['abc', '0', '1.5', '99999999999999999999']) {
    const { code, out, err } = await qrs.run(['rows', odd]);
    assert.deepEqual([code, out], [2, ''], odd);
    assert.match(err, /'query'\. The id of an execution is a ULID, that of a query is a whole number from 1 to /);
  }
  assert.equal((await qrs.run(['rows', '100', '--json', '--format', 'csv'])).code, 2);
  assert.equal((await qrs.run(['rows', '100', '--limit', 'x'])).code, 2);
  assert.equal((await qrs.run(['rows', '100', '--format', 'table', '--limit', '10001'])).code, 2);
});

test('an address that is no service, one where nothing listens, and an answer that breaks off', async (t) => {
  const broken = createServer((request, response) => {
    if (request.url?.startsWith('/v1/query/1/'))
      response.writeHead(404, { 'content-type': 'text/html' }).end('<p>no</p>');
    else if (request.url?.startsWith('/v1/query/3/'))
      response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Log in</p>');
    else if (request.url?.startsWith('/v1/query/4/')) response.writeHead(204).end();
    else if (request.url?.startsWith('/v1/query/5/')) {
      response.writeHead(503, { 'content-length': '1000', 'retry-after': '3' });
      response.write('{"error":', () => response.destroy());
    } else {
      response.writeHead(200, { 'content-length': '1000', 'content-type': 'text/csv; charset=utf-8' });
      response.write('a\n1\n', () => response.destroy());
    }
  });
  broken.listen(0, '127.0.0.1');
  t.after(() => broken.close());
  await new Promise((resolve) => broken.once('listening', resolve));
  const url = `http://127.0.0.1:${(broken.address() as AddressInfo).port}`;
  const qrs = await makeCommandLine(t, { QRS_URL: url, QRS_KEY: 'qrs_x' });
  const other = await qrs.run(['rows', '1']);
  assert.equal(other.err, `error: ${url} (QRS_URL) answered 404, and not as a Query Results Service does\n`);
  for (const [query, status] of [
    ['3', 200],
    ['4', 204],
    ['5', 503],
  ] as const) {
    const err = `error: ${url} (QRS_URL) answered ${status}, and not as a Query Results Service does\n`;
    for (const format of ['csv', 'table', 'json', 'ndjson']) {
      assert.deepEqual(await qrs.run(['rows', query, '--format', format]), { code: 1, out: '', err });
    }
  }
  const cut = await qrs.run(['rows', '2']);
  assert.equal(cut.code, 1);
  assert.match(cut.err, /^error: the answer of http:\/\/127\.0\.0\.1:\d+ broke off after 4 bytes: /);
  const nobody = await makeCommandLine(t, { QRS_URL: 'http://127.0.0.1:1', QRS_KEY: 'qrs_x' });
  assert.match(
    (await nobody.run(['rows', '1'])).err,
    /^error: cannot reach http:\/\/127\.0\.0\.1:1 \(QRS_URL\): .+\n$/,
  );
  const secure = url.replace('http:', 'https:');
  const noTls = await makeCommandLine(t, { QRS_URL: secure, QRS_KEY: 'qrs_x' });
  assert.equal(
    (await noTls.run(['rows', '1'])).err,
    `error: cannot reach ${secure} (QRS_URL): it does not speak TLS; ${url} might be what is meant\n`,
  );
});

test('an answer that a proxy ended early, as if it were whole, is an error in every format', async (t) => {
  const { qrs } = await withTrades(t);
  const key = await qrs.get('keys', 'create', '--user', 'ann');
  const url = await serveDirectory(t, qrs);
  const bodies: string[] = [];
  const proxy = createServer(async (request, response) => {
    const answer = await fetch(`${url}${request.url}`, { headers: { 'x-service-api-key': key } });
    const text = await answer.text();
    bodies.push(text);
    const cut = text.slice(0, text.length - Number(request.headers['x-service-api-key']));
    for (const name of ['content-type', 'x-service-row-count']) {
      const value = answer.headers.get(name);
      if (value !== null) response.setHeader(name, value);
    }
    response.end(cut);
  });
  proxy.listen(0, '127.0.0.1');
  t.after(() => proxy.close());
  await new Promise((resolve) => proxy.once('listening', resolve));
  const QRS_URL = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  // The key says how many bytes are left out.
  const short = async (format: string, left: number) =>
    await (await makeCommandLine(t, { QRS_URL, QRS_KEY: String(left) })).run(['rows', '100', '--format', format]);
  for (const format of ['csv', 'ndjson', 'json', 'table']) {
    assert.equal((await short(format, 0)).code, 0, format);
    const { length } = bodies.at(-1) ?? '';
    for (const left of [1, 2, 20, length]) {
      const { code, err } = await short(format, left);
      assert.equal(code, 1, `${format} without ${left} bytes`);
      assert.match(
        err,
        /^error: the answer of \S+ broke off after \d+ bytes: (\d+ rows have come, of \d+ that it has|it has no end)\n$/,
      );
    }
  }
});

test('a truncated result is read only with the flag for it', async (t) => {
  const qrs = await makeCommandLine(t, { QRS_MAX_RESULT_BYTES: '1MB' });
  await qrs.get('users', 'add', 'ann');
  await qrs.get('queries', 'add', '--id', '100', '--user', 'ann');
  const rows = `n\n${`${'x'.repeat(1000)}\n`.repeat(1500)}`;
  await qrs.run(['publish', '-', '--query', '100', '--format', 'csv'], rows);
  assert.match((await qrs.run(['rows', '100'])).err, /Partial Result/);
  const { code, out } = await qrs.run(['rows', '100', '--partial']);
  assert.deepEqual([code, out.split('\n').length], [0, 1002]);
});

test('qrs open prints the addresses of the pages, and whether anything answers there', async (t) => {
  const qrs = await makeCommandLine(t, { QRS_HOST: '0.0.0.0', QRS_PORT: '1' });
  const { code, out, err } = await qrs.run(['open']);
  assert.deepEqual([code, out], [0, 'http://127.0.0.1:1/\nhttp://127.0.0.1:1/docs\n']);
  assert.equal(
    err,
    'nothing answers at http://127.0.0.1:1 at this moment: `qrs serve` starts the service of these settings\n',
  );
  const url = await serveDirectory(t, qrs);
  const away = await makeCommandLine(t, { QRS_URL: url });
  const there = await away.run(['open', '--json']);
  assert.deepEqual([there.out, there.err], [`{"first_page":"${url}/","documentation":"${url}/docs"}\n`, '']);
  assert.equal((await away.run(['open', '100'])).out, `${url}/queries/100\n`);
  const silent = async (given: string) => (await (await makeCommandLine(t, { QRS_URL: given })).run(['open'])).err;
  assert.equal(
    await silent(`${url}/v1`),
    `nothing answers at ${url}/v1 at this moment: QRS_URL ends in /v1, which is added to it\n`,
  );
  assert.equal(await silent('http://127.0.0.1:1'), 'nothing answers at http://127.0.0.1:1 at this moment (QRS_URL)\n');
  const anyPort = await makeCommandLine(t, { QRS_PORT: '0' });
  assert.match((await anyPort.run(['open'])).err, /QRS_PORT is 0, any free port: the service prints its address/);
});
