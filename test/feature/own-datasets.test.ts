/** An installation's own datasets: a folder with a declaration and its SQL, named by QRS_DATASETS_DIR. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readDatasetFolder } from '../../src/datasets/dataset-folder.ts';
import { makeCommandLine } from './command.ts';
import { getEnvelope } from './http-client.ts';
import { startHttpService } from './http-service.ts';
import { assertRefused, sender } from './http-writer.ts';

const root = await mkdtemp(join(tmpdir(), 'qrs-own-datasets-'));
after(() => rm(root, { recursive: true, force: true }));

const DECLARATION = `{
  "title": "Orders of each day",
  "path": "/v1/shop/orders-by-day",
  "query_id": 990500001,
  "schedule": "0 * * * *",
  "keep": 3,
  "columns": [
    { "name": "day", "type": "date", "about": "The day of the orders", "example": "2024-03-05" },
    { "name": "chain", "type": "varchar", "about": "Where they were paid", "example": "base", "values": ["base", "celo"] },
    { "name": "total", "type": "decimal(38, 2)", "about": "What they cost together", "example": "12.50" }
  ],
  "sources": {
    "shop.orders": { "ordered_at": "timestamp(3)", "chain": "varchar", "amount": "decimal(18, 2)" }
  }
}
`;
const SQL = `SELECT CAST(ordered_at AS DATE) AS day, chain, SUM(amount) AS total
FROM shop.orders
WHERE ordered_at < {{as_of}}
GROUP BY 1, 2
ORDER BY 1, 2
`;

let folders = 0;

/** Makes a folder with these files. */
async function write(files: Readonly<Record<string, string | Buffer>>): Promise<string> {
  const folder = join(root, String(++folders));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return folder;
}

const DATASET = { 'orders-by-day/dataset.json': DECLARATION, 'orders-by-day/query.sql': SQL };
const ORDERS = {
  'shop/orders.csv': 'ordered_at,chain,amount\n2024-03-05 10:00:00,base,5.50\n2024-03-05 11:00:00,base,7\n',
};

test('an own dataset is refreshed, served at its address, listed, and described with the meanings of its columns', async (t) => {
  const environment = { QRS_DATASETS_DIR: await write(DATASET), QRS_SOURCES_DIR: await write(ORDERS) };
  const service = await startHttpService(t, environment);
  await service.commandLine.get('datasets', 'refresh', 'orders-by-day');
  const { result, query_id } = await getEnvelope(service, '/v1/shop/orders-by-day');
  assert.equal(query_id, 990_500_001);
  assert.deepEqual(result.rows, [{ day: '2024-03-05', chain: 'base', total: '12.50' }]);
  const listed = JSON.parse(await service.commandLine.get('datasets', 'list', '--json')) as { readonly name: string }[];
  assert.ok(listed.some(({ name }) => name === 'orders-by-day'));
  const { columns } = await service.json('/v1/query/990500001');
  assert.deepEqual((columns as readonly { readonly description?: string }[])[0]?.description, 'The day of the orders');
  const document = JSON.stringify(await service.json('/openapi.json'));
  assert.match(document, /"\/v1\/shop\/orders-by-day"/);
  assert.match(document, /"description":"Where they were paid\.","enum":\["base","celo"\]/);
});

test('a result with other columns than the dataset declares is not published, whoever sends it', async (t) => {
  const environment = { QRS_DATASETS_DIR: await write(DATASET), QRS_SOURCES_DIR: await write(ORDERS) };
  const service = await startHttpService(t, environment);
  await service.commandLine.get('datasets', 'refresh', 'orders-by-day');
  const { execution_id } = await getEnvelope(service, '/v1/shop/orders-by-day');
  const says =
    'dataset orders-by-day: column 3: found total double, expected total decimal(38, 2), which orders-by-day/dataset.json:10 declares';
  const types = 'day=date,chain=varchar,total=decimal(38, 2)';
  const path = '/v1/query/990500001/results';
  const csv = 'day,chain,total\n2024-03-06,base,1.5\n';
  const send = sender(service, await service.commandLine.get('keys', 'create', '--user', 'ann', '--scope', 'admin'));
  const body = { body: csv, headers: { 'content-type': 'text/csv' } };
  const refused = await send('POST', `${path}?types=total=double`, body);
  assertRefused(refused, 400, 'invalid_result', `${says} (?types=${types})`);
  const file = join(await write({ 'rows.csv': csv }), 'rows.csv');
  const command = await service.commandLine.run(['publish', file, '--query', '990500001', '--types', 'total=double']);
  assert.deepEqual([command.code, command.out], [1, '']);
  assert.ok(command.err.includes(`${says} (--types ${types})`), command.err);
  const inCapitals = await send('POST', path, { ...body, body: csv.replace('day', 'Day') });
  assertRefused(inCapitals, 400, 'invalid_result', /column 1: found Day date, expected day date/);
  const oneLess = await send('POST', path, { ...body, body: 'day,chain\n2024-03-06,base\n' });
  assertRefused(oneLess, 400, 'invalid_result', /column 3, total decimal\(38, 2\), which \S+ declares, is missing$/);
  assert.equal((await getEnvelope(service, '/v1/shop/orders-by-day')).execution_id, execution_id);
});

test("what is published to a dataset's query has its declared types, which need not be declared again", async (t) => {
  const service = await startHttpService(t, { QRS_DATASETS_DIR: await write(DATASET) });
  const send = sender(service, await service.commandLine.get('keys', 'create', '--user', 'ann', '--scope', 'admin'));
  const publish = async (type: string, body: string) => {
    const sent = { body, headers: { 'content-type': type } };
    return await send('POST', '/v1/query/990500001/results', sent);
  };
  const rows = async () => (await getEnvelope(service, '/v1/shop/orders-by-day')).result.rows;
  assert.equal((await publish('text/csv', 'day,chain,total\n2024-03-06,8453,1.5\n')).status, 201);
  assert.deepEqual(await rows(), [{ day: '2024-03-06', chain: '8453', total: '1.50' }]);
  const line = '{"day":"2024-03-07","chain":"base","total":12345678901234567890.25}\n';
  assert.equal((await publish('application/x-ndjson', line)).status, 201);
  assert.deepEqual(await rows(), [{ day: '2024-03-07', chain: 'base', total: '12345678901234567890.25' }]);
  assert.equal((await publish('text/csv', 'day,chain,total\n')).status, 201, 'no rows');
  assert.deepEqual(await rows(), []);
  const says = 'row 1, column "total": "1.555" cannot be stored as decimal(38, 2)';
  assertRefused(await publish('text/csv', 'day,chain,total\n2024-03-06,base,1.555\n'), 400, 'invalid_result', says);
});

test('what the start would set back cannot be changed in the catalog', async (t) => {
  const environment = { QRS_DATASETS_DIR: await write(DATASET), QRS_SOURCES_DIR: await write(ORDERS) };
  const service = await startHttpService(t, environment);
  const send = sender(service, await service.commandLine.get('keys', 'create', '--user', 'ann', '--scope', 'admin'));
  const patch = (body: object) => send('PATCH', '/v1/query/990500001', { body });
  const says = (what: string) => new RegExp(`^query 990500001 is a curated dataset: ${what} would be set back`);
  assertRefused(await patch({ query_sql: 'select 1' }), 400, 'invalid_query', says('its SQL'));
  assertRefused(await patch({ schedule: null }), 400, 'invalid_query', says('its schedule'));
  assertRefused(
    await patch({ parameters: [{ key: 'chain', type: 'text', value: 'base' }] }),
    400,
    'invalid_query',
    says('its parameters'),
  );
  assertRefused(await patch({ name: 'n' }), 400, 'invalid_query', says('its name'));
  assertRefused(await send('POST', '/v1/query/990500001/private'), 400, 'invalid_query', says('that it is public'));
  const { code, err } = await service.commandLine.run(['queries', 'schedule', '990500001', '--off']);
  assert.equal(code, 1);
  assert.match(err.replace('error: ', ''), says('its schedule'));
  const file = join(await write({ 'rows.csv': 'day,chain,total\n2024-03-06,base,1.5\n' }), 'rows.csv');
  const publish = ['publish', file, '--query', '990500001', '--describe'];
  const described = await service.commandLine.run([...publish, 'chain=Which chain']);
  assert.equal(described.code, 1);
  const [last = ''] = described.err.trimEnd().split('\n').slice(-1);
  assert.match(last.replace('error: --describe: ', ''), says('the descriptions of its columns'));
  assert.equal(
    (await service.commandLine.run([...publish, 'chain=Where they were paid'])).code,
    0,
    'as it is declared',
  );
  assert.equal((await patch({ tags: ['shop'] })).status, 200);
});

for (const name of ['100%', 'a#b', 'a%20b']) {
  test(`a folder of datasets called ${name}`, async (t) => {
    const QRS_DATASETS_DIR = join(
      await write({ [`${name}/a/dataset.json`]: DECLARATION, [`${name}/a/query.sql`]: 'SELECT' }),
      name,
    );
    const { code, err } = await (await makeCommandLine(t, { QRS_DATASETS_DIR })).run(['datasets', 'list']);
    assert.equal(code, 1);
    assert.ok(err.includes(`${QRS_DATASETS_DIR}/a/query.sql: `), err);
  });
}

test('a folder of datasets that is given from the current one on', async () => {
  const folder = await write(DATASET);
  const [dataset] = await readDatasetFolder(relative(process.cwd(), folder));
  assert.equal(dataset && fileURLToPath(dataset.sqlFile), join(folder, 'orders-by-day/query.sql'));
});

test('a dataset that is linked to, as in a Kubernetes volume, is one; a link to nowhere is told', async () => {
  const folder = await write({
    '..2024_03_05/orders-by-day/dataset.json': DECLARATION,
    '..2024_03_05/orders-by-day/query.sql': SQL,
  });
  await symlink('..2024_03_05', join(folder, '..data'));
  await symlink('..data/orders-by-day', join(folder, 'orders-by-day'));
  assert.deepEqual(
    (await readDatasetFolder(folder)).map(({ name }) => name),
    ['orders-by-day'],
  );
  await symlink('..data/gone', join(folder, 'gone'));
  await assert.rejects(readDatasetFolder(folder), /\/gone is a link that cannot be followed: ENOENT/);
});

describe('an error is told with its file and line', () => {
  const replaced = (from: string, to: string) => ({
    'a/dataset.json': DECLARATION.replace(from, to),
    'a/query.sql': SQL,
  });
  const LATIN = Buffer.from('caf\xe9', 'latin1');
  const cases: readonly (readonly [files: Record<string, string | Buffer>, message: RegExp])[] = [
    [replaced('"keep": 3,', '"keep": 3'), /\/a\/dataset\.json:7: Expected ',' or '\}' after property value/],
    [replaced('"title"', '"titel"'), /\/a\/dataset\.json:2: titel: unknown field "titel": did you mean "title"\?/],
    [replaced('"0 * * * *"', '"61 * * * *"'), /\/a\/dataset\.json:5: schedule: .*61/],
    [replaced('990500001', '990000001'), /\/a\/dataset\.json:4: query_id: expected a whole number from 990500001/],
    [replaced('/v1/shop/orders-by-day', '/v1/query/7'), /dataset\.json:3: path: the addresses below \/v1\/query\/ are/],
    [replaced('"decimal(38, 2)"', '"decimla(38, 2)"'), /\/a\/dataset\.json:10: columns\.2\.type: /],
    [
      replaced('"about": "The day of the orders", ', ''),
      /dataset\.json:8: columns\.0\.about: expected a text, found nothing/,
    ],
    [
      replaced('"name": "chain", "type"', '"name": "day", "type"'),
      /dataset\.json:9: columns\.1\.name: a second column "day"/,
    ],
    [replaced('"shop.orders"', '"orders"'), /\/a\/dataset\.json:13: sources\.orders: a source table is schema\.table/],
    [{ 'a/query.sql': SQL }, /\/a\/dataset\.json is missing: each folder of QRS_DATASETS_DIR is a dataset/],
    [{ 'a/dataset.json': DECLARATION }, /\/a\/query\.sql is missing/],
    [{ 'a/dataset.json': DECLARATION, 'a/query.sql': LATIN }, /\/a\/query\.sql is not UTF-8: save it as UTF-8/],
    [{ 'a/dataset.json': LATIN, 'a/query.sql': SQL }, /\/a\/dataset\.json is not UTF-8: save it as UTF-8/],
    [{ 'A b/dataset.json': DECLARATION, 'A b/query.sql': SQL }, /dataset\.json:1: the folder is the dataset's name/],
  ];
  for (const [files, message] of cases) {
    test(String(message), async () => assert.rejects(readDatasetFolder(await write(files)), message));
  }

  test('the folder itself', async () => {
    const missing = join(root, 'nowhere');
    await assert.rejects(readDatasetFolder(missing), /^Error: QRS_DATASETS_DIR names .*nowhere, which cannot be read/);
  });

  const sqlCases: readonly (readonly [sql: string, message: RegExp])[] = [
    ['SELECT 1\nFROM shop.orders WHERE x =', /query\.sql:2:27: the SQL ends where something must follow/],
    ["SELECT * FROM read_text('/etc/passwd')", /query\.sql:1:15: a query cannot read from read_text/],
    [SQL.replace('chain, SUM', 'chian, SUM'), /query\.sql:1:41: there is no column "chian"; did you mean "chain"\?/],
    [
      SQL.replace('SUM(amount)', 'COUNT(*)'),
      /query\.sql: dataset orders-by-day: column 3: found total bigint, expected total decimal\(38, 2\), which orders-by-day\/dataset\.json:10 declares/,
    ],
    [SQL.replace('{{as_of}}', '{{now}}'), /query\.sql:3:20: \{\{now\}\} is not declared/],
  ];
  for (const [sql, message] of sqlCases) {
    test(`the SQL: ${message}`, async (t) => {
      const QRS_DATASETS_DIR = await write({ ...DATASET, 'orders-by-day/query.sql': sql });
      const qrs = await makeCommandLine(t, { QRS_DATASETS_DIR, QRS_SOURCES_DIR: await write(ORDERS) });
      const { code, err } = await qrs.run(['datasets', 'list']);
      assert.equal(code, 1);
      assert.match(err, message);
    });
  }
});
