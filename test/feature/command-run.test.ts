/** `qrs run`: a run of a query by the service's own engine, from its SQL to its rows (contract §10). */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { KyselyQueries } from '../../src/catalog/kysely/queries.ts';
import type { QueryDefinition } from '../../src/domain/query.ts';
import { FakeCoordinator } from '../contract/fake-coordinator.ts';
import { hurried } from '../contract/trino-on-fake.ts';
import { openBehind } from './behind-the-command.ts';
import { type CommandLine, makeCommandLine } from './command.ts';

/** A data directory with a source table of orders, and the query 7 of ann. */
async function withQuery(t: TestContext, definition: Partial<QueryDefinition>): Promise<CommandLine> {
  const qrs = await makeCommandLine(t);
  await qrs.get('users', 'add', 'ann');
  await mkdir(join(qrs.dataDir, 'sources', 'shop'), { recursive: true });
  await writeFile(
    join(qrs.dataDir, 'sources', 'shop', 'orders.csv'),
    'id,chain,amount\n1,base,5\n2,base,7\n3,celo,11\n',
  );
  await using behind = await openBehind(qrs);
  const catalog = await behind.catalog();
  const owner = { kind: 'user', name: 'ann' } as const;
  await catalog.queries.add({ id: 7, owner, visibility: 'public', ...definition }, 0);
  return qrs;
}

const BY_CHAIN = {
  sql: `SELECT chain, sum(amount::INT) AS total, sum(amount::INT) > {{floor}} AS above
FROM shop.orders
WHERE chain LIKE '{{prefix}}%'
GROUP BY chain ORDER BY chain`,
  parameters: [
    { key: 'floor', type: 'number', value: '10' },
    { key: 'prefix', type: 'text', value: '' },
  ],
} as const;

test('a query is run with its values, its result is stored, and its rows are printed', async (t) => {
  const qrs = await withQuery(t, BY_CHAIN);
  const { code, out, err } = await qrs.run(['run', '7', '--param', 'floor=11.5']);
  assert.equal(out, 'chain,total,above\nbase,12,true\ncelo,11,false\n');
  assert.match(err, /^run [0-9A-Z]{26} of query 7 took [0-9.]+ s\n$/);
  assert.equal(code, 0);
  assert.equal((await qrs.run(['run', '7', '--param', 'prefix=ce'])).out, 'chain,total,above\ncelo,11,true\n');
  // Stored like every result, with the values of the run.
  const rows = await qrs.get('rows', '7', '--param', 'floor=11.5');
  assert.equal(rows, 'chain,total,above\nbase,12,true\ncelo,11,false');
});

test('whole numbers over 64 bits keep their digits', async (t) => {
  const sql = 'SELECT 170141183460469231731687303715884105727::HUGEINT AS n, INTERVAL 3 DAY AS i, [1, 2] AS l';
  const qrs = await withQuery(t, { sql });
  assert.equal((await qrs.run(['run', '7'])).out, 'n,i,l\n170141183460469231731687303715884105727,3 days,"[1,2]"\n');
});

test('a table on a terminal; only the execution id where no rows are wanted', async (t) => {
  const qrs = await withQuery(t, BY_CHAIN);
  assert.match((await qrs.onTerminal('run', '7')).out, /chain +total +above\n/);
  const id = await qrs.get('run', '7', '--no-rows');
  assert.match(id, /^[0-9A-Z]{26}$/);
  const [shown] = JSON.parse(await qrs.get('executions', 'list', '--json'));
  assert.deepEqual([shown.execution_id ?? shown.id, shown.state], [id, 'QUERY_STATE_COMPLETED']);
});

test('an error in the SQL is told with line and column, and kept as the error of the run', async (t) => {
  const qrs = await withQuery(t, { sql: 'SELECT chain\nFROM shop.orders\nWHERE amont > 5' });
  const { code, err } = await qrs.run(['run', '7']);
  assert.equal(code, 1);
  assert.match(
    err,
    /^error: run [0-9A-Z]{26} failed: line 3, column 7: there is no column "amont"; did you mean "amount"\?/,
  );
});

test('a file of SQL that cannot be read is told with its option, and no query is added', async (t) => {
  const qrs = await withQuery(t, BY_CHAIN);
  const adding = async (file: string) => await qrs.run(['queries', 'add', '--id', '8', '--user', 'ann', '--sql', file]);
  const none = join(qrs.directory, 'none.sql');
  assert.deepEqual(await adding(none), { code: 1, out: '', err: `error: --sql: there is no file ${none}\n` });
  const folder = `error: --sql: ${qrs.directory} is a folder, expected a file\n`;
  assert.deepEqual(await adding(qrs.directory), { code: 1, out: '', err: folder });
  const latin = join(qrs.directory, 'latin.sql');
  await writeFile(latin, Buffer.from("SELECT 'caf\xe9' AS name", 'latin1'));
  const refusal = `error: --sql: ${latin} is not UTF-8: save it as UTF-8\n`;
  assert.deepEqual(await adding(latin), { code: 1, out: '', err: refusal });
  assert.equal(await qrs.get('queries', 'list'), '7');
});

test('a query that is added is told as it is listed, with its schedule', async (t) => {
  const qrs = await makeCommandLine(t);
  await qrs.get('users', 'add', 'ann');
  const sql = join(qrs.directory, 'one.sql');
  await writeFile(sql, 'SELECT 1 AS n');
  const words = ['--id', '7', '--user', 'ann', '--sql', sql, '--schedule', '0 * * * *'];
  const added = JSON.parse(await qrs.get('queries', 'add', ...words, '--json'));
  assert.deepEqual(added, { id: 7, user: 'ann', visibility: 'public', schedule: '0 * * * *' });
  assert.deepEqual(JSON.parse(await qrs.get('queries', 'list', '--json')), [added]);
});

test('SQL is refused that was checked against parameters which somebody else has changed meanwhile', async (t) => {
  const qrs = await withQuery(t, {
    sql: 'SELECT {{floor}} AS n',
    parameters: [{ key: 'floor', type: 'number', value: '1' }],
  });
  const pipe = join(qrs.directory, 'piped.sql');
  assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
  const changing = qrs.run(['queries', 'set', '7', '--sql', pipe]);
  // Opens once the command has begun to read.
  await using writer = await open(pipe, 'w');
  const other = join(qrs.directory, 'other.sql');
  await writeFile(other, 'SELECT {{top}} AS n');
  await qrs.get('queries', 'set', '7', '--sql', other, '--parameter', 'top:number=2');
  await writer.writeFile('SELECT {{floor}} + 1 AS n');
  await writer.close();
  const err = 'error: query 7 was changed by somebody else at this moment; try again\n';
  assert.deepEqual(await changing, { code: 1, out: '', err });
  await using behind = await openBehind(qrs);
  const { sql, parameters } = (await (await behind.catalog()).queries.find(7)) ?? {};
  assert.deepEqual([sql, parameters], ['SELECT {{top}} AS n', [{ key: 'top', type: 'number', value: '2' }]]);
});

test('a schedule is refused for a query that somebody else has changed meanwhile into one that it cannot run', async (t) => {
  const qrs = await withQuery(t, { sql: 'SELECT 1 AS n' });
  const other = join(qrs.directory, 'other.sql');
  await writeFile(other, 'SELECT {{top}} AS n');
  const find = KyselyQueries.prototype.find;
  // The other change comes just after the command has looked the query up.
  const mocked = t.mock.method(KyselyQueries.prototype, 'find', async function (this: KyselyQueries, id: number) {
    const found = await find.call(this, id);
    mocked.mock.restore();
    await qrs.get('queries', 'set', '7', '--sql', other, '--parameter', 'top:number');
    return found;
  });
  const err = 'error: a schedule names no values: give parameter top one of its own\n';
  assert.deepEqual(await qrs.run(['queries', 'schedule', '7', '0 * * * *']), { code: 1, out: '', err });
  await using behind = await openBehind(qrs);
  assert.equal((await (await behind.catalog()).queries.find(7))?.schedule, undefined);
});

test('a query that cannot be run: exit 1, one line that says why', async (t) => {
  const qrs = await withQuery(t, { ...BY_CHAIN, isArchived: true });
  const failed = async (...args: readonly string[]) => {
    const { code, err } = await qrs.run(['run', ...args]);
    return [code, err];
  };
  assert.deepEqual(await failed('7'), [1, 'error: query 7 is archived: it is served, not run; unarchive it first\n']);
  assert.deepEqual(await failed('8'), [1, 'error: there is no query 8: add it first\n']);
  assert.equal((await failed('7', '--param', 'floor'))[0], 2);
  const open = await withQuery(t, BY_CHAIN);
  const { err } = await open.run(['run', '7', '--param', 'Chain=x']);
  assert.equal(err, 'error: unknown parameters (Chain)\n');
});

test('a query that is added while Trino is away: what is waited for, and then why', async (t) => {
  const fake = await FakeCoordinator.start();
  const { origin } = fake;
  await fake[Symbol.asyncDispose]();
  const { host } = new URL(origin);
  const qrs = await makeCommandLine(t, { QRS_ENGINE_URL: `trino://qrs@${host}/lake` });
  qrs.sleep = hurried;
  await qrs.get('users', 'add', 'ann');
  const path = join(qrs.directory, 'query.sql');
  await writeFile(path, 'SELECT 1 AS n');
  const add = ['queries', 'add', '--id', '7', '--user', 'ann', '--sql', path];
  const said = `error: Trino cannot be reached (ECONNREFUSED: connect ECONNREFUSED ${host}): the catalog lake of the Trino at ${origin} (QRS_ENGINE_URL)\n`;
  assert.deepEqual(await qrs.run(add), { code: 1, out: '', err: said });
  const waiting = `checking the SQL: the tables are in the catalog lake of the Trino at ${origin}`;
  assert.equal((await qrs.onTerminal(...add)).err, `\r\u001b[K${waiting}\r\u001b[K${said}`);
});
