/** Kinds of requests that ask for other things than rows: lists, documents, writing; and crowds of clients. */
import { BUSY_QUERY, type LoopData, WIDE_COLUMNS } from './data.ts';
import type { Asked, Kind, LoopClient } from './kinds.ts';

const CROWD = 500;

export function listKinds(): readonly Kind[] {
  const get = (name: string, path: (turn: number) => string, times = 12): Kind => ({
    name,
    times,
    ask: (client, turn) => client.ask(path(turn)),
  });
  return [
    get('10,000 queries', (turn) => `/v1/queries?limit=200&offset=${turn * 200}`),
    get('10,000 queries, searched', (turn) => `/v1/queries?limit=200&search=wallet+${turn}`),
    get('10,000 queries with a tag', (turn) => `/v1/queries?limit=200&tag=tag+${turn}`),
    get('10,000 queries that have results', () => '/v1/queries?limit=200&has_results=true'),
    get('50,000 runs of a query', (turn) => `/v1/query/${BUSY_QUERY}/executions?limit=200&offset=${turn * 200}`),
    get('50,000 runs of a query, the last', () => `/v1/query/${BUSY_QUERY}/executions?limit=200&offset=49800`),
    get(
      '50,000 runs of a query, of a state',
      () => `/v1/query/${BUSY_QUERY}/executions?limit=200&state=failed&from=2024-03-05`,
    ),
    get('the latest of 50,000 runs', (turn) => `/v1/query/${BUSY_QUERY}/results?limit=${turn}`),
    get('as_of among 50,000 runs', (turn) => `/v1/query/${BUSY_QUERY}/results?as_of=2024-03-06T00:00:0${turn % 10}Z`),
    get('usage', () => '/v1/usage'),
    ...['/openapi.json', '/docs', '/llms.txt', '/', '/metrics', '/healthz', '/readyz'].map((path) =>
      get(path, () => path),
    ),
    get('an unknown key', () => '/v1/queries?api_key=qrs_unknown'),
    {
      name: 'the explorer, for a browser',
      times: 6,
      ask: (client) => client.ask('/', { headers: { accept: 'text/html', 'accept-encoding': 'br' } }),
    },
  ];
}

export function writeKinds({ admin }: LoopData): readonly Kind[] {
  const headers = { 'x-service-api-key': admin, 'content-type': 'application/json' };
  const send = (name: string, path: string, asked: (turn: number) => Asked, times = 6): Kind => ({
    name,
    times,
    ask: (client, turn) => {
      const { headers: others, ...rest } = asked(turn);
      return client.ask(path, { method: 'POST', headers: { ...headers, ...others }, ...rest });
    },
  });
  const upload = (name: string, type: string, body: Buffer, times = 3) =>
    send(`upload: ${name}`, '/v1/query/1000/results', () => ({ headers: { 'content-type': type }, body }), times);
  const object = (text: string) => () => ({ body: text });
  const many = 900_000;
  return [
    {
      name: 'a query to write to',
      times: 1,
      ask: (client) => client.ask('/v1/query', { method: 'POST', headers, body: '{"name":"written","query_id":1000}' }),
    },
    send('JSON of 1 MB: one text', '/v1/query', (turn) => ({
      body: JSON.stringify({ name: `n${turn}`, description: 'a'.repeat(many) }),
    })),
    send(
      'JSON of 1 MB: fields that do not exist',
      '/v1/query',
      object(JSON.stringify(Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`field_${n}`, n])))),
    ),
    send('JSON of 1 MB: brackets', '/v1/query', object(`{"name":${'['.repeat(many / 2)}${']'.repeat(many / 2)}}`)),
    send(
      'JSON of 1 MB: tags',
      '/v1/query',
      object(JSON.stringify({ name: 'x', tags: Array.from({ length: 100_000 }, (_, n) => `t${n}`) })),
    ),
    send(
      'JSON of 1 MB: SQL',
      '/v1/query',
      (turn) => ({
        body: JSON.stringify({
          name: `s${turn}`,
          query_sql: `SELECT ${Array.from({ length: 90_000 }, (_, n) => `${n} + ${turn}`).join(', ')}`.slice(0, many),
        }),
      }),
      2,
    ),
    send(
      'JSON of 1 MB: SQL with parameters',
      '/v1/query',
      (turn) => ({ body: JSON.stringify({ name: `p${turn}`, query_sql: `SELECT ${'{{a}}, '.repeat(100_000)}1` }) }),
      2,
    ),
    send('JSON of 900 KB: descriptions of columns', '/v1/query', (turn) => ({
      body: JSON.stringify({
        name: `d${turn}`,
        column_descriptions: Object.fromEntries(
          Array.from({ length: 20_000 }, (_, n) => [`column_${n}`, 'what it is']),
        ),
      }),
    })),
    send(
      'an answer given again',
      '/v1/query',
      () => ({
        headers: { 'idempotency-key': 'loop' },
        body: JSON.stringify({ name: 'again', description: 'a'.repeat(5000) }),
      }),
      30,
    ),
    upload('CSV of 20 MB', 'text/csv', csvOf(20, 100_000)),
    upload(`CSV of ${WIDE_COLUMNS} columns`, 'text/csv', csvOf(WIDE_COLUMNS, 100)),
    upload('CSV of one line of 30 MB', 'text/csv', Buffer.from(`a,b\n1,"${'x'.repeat(30_000_000)}"\n`)),
    upload('CSV that is one quote', 'text/csv', Buffer.from(`a,b\n1,"${'x\n'.repeat(5_000_000)}`)),
    upload('NDJSON of 1,000 keys a row', 'application/x-ndjson', ndjsonOf(1000, 1000)),
    upload('NDJSON of a row of 20 MB', 'application/x-ndjson', Buffer.from(`{"a":[${'1,'.repeat(10_000_000)}1]}\n`)),
    upload('no Parquet', 'application/vnd.apache.parquet', Buffer.alloc(20_000_000, 'PAR1')),
    upload('100 rows', 'text/csv', csvOf(5, 100), 12),
  ];
}

export function crowdKinds(data: LoopData): readonly Kind[] {
  const crowd = (name: string, ask: (client: LoopClient, one: number, turn: number) => Promise<unknown>): Kind => ({
    name,
    times: 4,
    ask: (client, turn) => Promise.all(Array.from({ length: CROWD }, (_, one) => ask(client, one, turn))),
  });
  const at = `/v1/execution/${data.rows}/results`;
  return [
    crowd('500 clients, one page', (client) => client.ask(`${at}?limit=25`)),
    crowd('500 clients, 500 pages', (client, one, turn) =>
      client.ask(`${at}?limit=100&offset=${(turn * CROWD + one) * 100}`),
    ),
    crowd('500 clients, 500 filters', (client, one, turn) =>
      client.ask(`${at}?limit=10&filters=id%3D${(turn * CROWD + one) * 101}`),
    ),
    crowd('500 clients that go away', (client) =>
      client.ask(`${at}?ignore_max_datapoints_per_request=true`, { bytesMax: 1 }),
    ),
    crowd('500 clients, full pages', (client, one) => client.ask(`${at}?limit=25000&offset=${(one % 20) * 25_000}`)),
    crowd('500 clients, of everything', (client, one, turn) => {
      const paths = [
        `${at}?limit=1000&offset=${one * 977}`,
        '/v1/queries?limit=200',
        '/openapi.json',
        `${at}/csv?limit=25000&offset=${turn * 1000}`,
        `/v1/execution/${data.wide}/results?limit=5&offset=${one % 90}`,
        '/metrics',
      ];
      return client.ask(paths[one % paths.length] ?? '');
    }),
  ];
}

function csvOf(columns: number, rows: number): Buffer {
  const header = Array.from({ length: columns }, (_, column) => `c${column}`).join(',');
  const line = (row: number) => Array.from({ length: columns }, (_, column) => row * column).join(',');
  return Buffer.from(`${[header, ...Array.from({ length: rows }, (_, row) => line(row))].join('\n')}\n`);
}

function ndjsonOf(keys: number, rows: number): Buffer {
  const line = (row: number) =>
    JSON.stringify(Object.fromEntries(Array.from({ length: keys }, (_, key) => [`k${(key + row * 7) % keys}`, row])));
  return Buffer.from(`${Array.from({ length: rows }, (_, row) => line(row)).join('\n')}\n`);
}
