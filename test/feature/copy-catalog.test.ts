/** scripts/copy-catalog.ts: a catalog in SQLite goes to PostgreSQL, and the service answers from there as it did before. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, suite, type TestContext, test } from 'node:test';
import { copyCatalog } from '../../scripts/copy-catalog.ts';
import { POSTGRES_MISSING, PostgresServer } from '../postgres-server.ts';
import { type CommandLine, makeCommandLine } from './command.ts';
import { openServer } from './http-service.ts';

suite('a catalog in SQLite is copied to PostgreSQL', { skip: POSTGRES_MISSING ?? false }, async () => {
  const server = await PostgresServer.start();
  after(async () => await server[Symbol.asyncDispose]());

  interface Filled {
    readonly commandLine: CommandLine;
    /** Of its commands. */
    readonly environment: Record<string, string>;
    readonly path: string;
    readonly key: string;
  }

  async function fill(t: TestContext): Promise<Filled> {
    const environment = { QRS_CATALOG_URL: 'sqlite:' };
    const commandLine = await makeCommandLine(t, environment);
    await commandLine.get('users', 'add', 'ann');
    await commandLine.get('teams', 'add', 'desk', '--member', 'ann');
    const key = await commandLine.get('keys', 'create', '--user', 'ann', '--scope', 'write');
    await commandLine.get('queries', 'add', '--id', '7', '--team', 'desk', '--private', '--name', 'Préço "x" \\ 2');
    for (const n of [1, 2]) {
      const { code, err } = await commandLine.run(
        ['publish', '-', '--query', '7', '--format', 'csv', '--param', `n=${n}`],
        `n,t\n${n},text ${n}\n`,
      );
      assert.equal(code, 0, err);
    }
    return { commandLine, environment, path: join(commandLine.dataDir, 'catalog.sqlite'), key };
  }

  /** What a service on this catalog answers, of all that the key may read. */
  async function answers({ commandLine, key }: Filled, catalogUrl: string): Promise<readonly unknown[]> {
    const { server: http, close } = await openServer(commandLine, { QRS_CATALOG_URL: catalogUrl });
    const get = async (path: string) =>
      await (await fetch(http.url + path, { headers: { 'x-service-api-key': key } })).text();
    const paths = [
      '/v1/query/7/results',
      '/v1/query/7/results/csv?params.n=1',
      '/v1/query/7',
      '/v1/query/7/executions',
      '/v1/queries?has_results=true',
    ];
    const texts: string[] = [];
    for (const path of paths) texts.push((await get(path)).replaceAll(http.url, ''));
    await close();
    return texts;
  }

  test('keys, private queries, runs, parameters and results are answered as before, and new ones are added', async (t) => {
    const filled = await fill(t);
    const before = await answers(filled, 'sqlite:');
    assert.match(String(before[0]), /"rows":\[\{"n":2,"t":"text 2"\}\]/);
    const url = await server.newSchema();
    const told: string[] = [];
    await copyCatalog(filled.path, url, (line) => told.push(line));
    for (const line of ['users: 1 rows', 'executions: 2 rows', 'result_sets: 2 rows'])
      assert(told.includes(line), told.join());
    assert.deepEqual(await answers(filled, url), before);
    const publish = ['publish', '-', '--query', '7', '--format', 'csv'];
    filled.environment.QRS_CATALOG_URL = url;
    const { code, err } = await filled.commandLine.run(publish, 'n,t\n3,text 3\n');
    assert.equal(code, 0, err);
    assert.match(String((await answers(filled, url))[0]), /"rows":\[\{"n":3,"t":"text 3"\}\]/);
  });

  test('a catalog that has anything is not written to', async (t) => {
    const filled = await fill(t);
    const url = await server.newSchema();
    await copyCatalog(filled.path, url, () => undefined);
    await assert.rejects(
      copyCatalog(filled.path, url, () => undefined),
      /the other catalog is not empty: its table \w+ has/,
    );
  });
});
