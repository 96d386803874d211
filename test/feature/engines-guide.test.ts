/**
 * The recipes of docs/guides/engines.md, each run as it stands there against a service: what it published is read back. An engine that is
 * not there is skipped, with the reason; one that nobody tries says so in the page.
 */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { pythonWithEngines } from '../../scripts/engines.ts';
import { POSTGRES_MISSING, PostgresServer } from '../postgres-server.ts';
import { type HttpService, startHttpService } from './http-service.ts';

const PAGE = join(import.meta.dirname, '../../docs/guides/engines.md');
const python = pythonWithEngines();
const run = promisify(execFile);

interface Block {
  readonly language: string;
  readonly text: string;
}

/** The blocks of each section, by its heading. */
const sections = new Map(
  (await readFile(PAGE, 'utf8'))
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [heading = ''] = section.split('\n', 1);
      const blocks = [...section.matchAll(/^```(\w+)\n(.*?)^```$/gms)];
      return [heading, { text: section, blocks: blocks.map(([, language = '', text = '']) => ({ language, text })) }];
    }),
);

/** Stands where Airflow does: a task is its function, and a DAG calls them. One with retries is done twice, as if its first answer were lost. */
const AIRFLOW = `def task(function=None, retries=0):
    if function is None:
        return lambda retried: lambda *given: [retried(*given) for _ in range(2)][-1]
    return function
def dag(**_):
    return lambda function: function
`;

/** What is called by a name, as it is where Python's packages are installed. */
const PROGRAMS = { python: '', duckdb: '-m duckdb_cli', dbt: '-m dbt.cli.main' };

const isMissing = (program: string) => spawnSync('bash', ['-c', `command -v ${program}`]).status !== 0;
const missing = ['curl', 'openssl', 'gzip'].filter(isMissing);
const withoutTools = missing.length > 0 && `no ${missing.join(', ')}`;
const withoutEngines =
  withoutTools || (python === undefined && 'no Python environment with engines: npm run setup:engines');

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'qrs-engines-'));
  await mkdir(join(folder, 'trades'));
  await mkdir(join(folder, 'bin'));
  for (const [name, module] of Object.entries(PROGRAMS)) {
    await writeFile(join(folder, 'bin', name), `#!/bin/sh\nexec '${python}' ${module} "$@"\n`, { mode: 0o755 });
  }
});
after(async () => await rm(folder, { recursive: true, force: true }));

function blocksOf(heading: string): readonly Block[] {
  return sections.get(heading)?.blocks ?? assert.fail(`the page has no section "${heading}"`);
}

interface World {
  readonly service: HttpService;
  readonly key: string;
  execute(program: string, args: readonly string[]): Promise<string>;
  /** How many runs query 100 has, and the rows of the last. */
  published(): Promise<readonly [number, readonly unknown[]]>;
}

async function start(t: TestContext, more: Readonly<Record<string, string>> = {}): Promise<World> {
  const service = await startHttpService(t);
  await service.commandLine.get('queries', 'add', '--id', '100', '--user', 'ann');
  const key = await service.commandLine.get('keys', 'create', '--user', 'ann', '--scope', 'write');
  const env = {
    ...process.env,
    PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
    HOME: folder,
    KEY: key,
    QRS: service.url,
    DBT_SEND_ANONYMOUS_USAGE_STATS: 'false',
    ...more,
  };
  const execute = async (program: string, args: readonly string[]) =>
    (await run(program, [...args], { cwd: join(folder, 'trades'), env, timeout: 150_000 })).stdout;
  const [publishing] = blocksOf('Any file: curl');
  await execute('bash', ['-euo', 'pipefail', '-c', publishing?.text ?? '']);
  return {
    service,
    key,
    execute,
    async published() {
      const catalog = await service.catalog();
      const runs = await catalog.executions.list({ queryId: 100, limit: 10 });
      const { result } = await service.json(`/v1/execution/${runs[0]?.id}/results?limit=3`);
      return [runs.length, (result as { readonly rows: readonly unknown[] }).rows];
    },
  };
}

async function runBlocks(
  { service, key, execute }: World,
  heading: string,
  change = (text: string) => text,
): Promise<void> {
  for (const { language, text: written } of blocksOf(heading)) {
    const text = change(written.replaceAll('http://127.0.0.1:8080', service.url).replaceAll('{KEY}', key));
    const [, name] = /^(?:#|--) (\S+\.\w+)\n/.exec(text) ?? [];
    if (name !== undefined) {
      const path = join(folder, 'trades', name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
    } else if (language === 'sh') await execute('bash', ['-euo', 'pipefail', '-c', text]);
    else if (language === 'python') await execute('python', ['-W', 'error', '-c', text]);
    else assert.fail(`${heading}: nobody runs a block of ${language}`);
  }
}

const TRADES = [
  { chain: 'base', trades: 17 },
  { chain: 'celo', trades: 4 },
];
const NUMBERS = [
  { n: 0, half: '0.0' },
  { n: 1, half: '0.5' },
  { n: 2, half: '1.0' },
];

test('curl publishes a file once, however often it is sent, and tells what is wrong with it', {
  skip: withoutTools,
}, async (t) => {
  const { execute, published } = await start(t);
  assert.deepEqual(await published(), [1, [{ chain: 'base', trades: 17 }]]);
  await execute('bash', ['-c', './publish.sh trades.csv 100']);
  assert.equal((await published())[0], 1);
  await execute('bash', ['-c', "printf 'n,n\\n1,2\\n' > wrong.csv"]);
  await assert.rejects(execute('bash', ['-c', './publish.sh wrong.csv 100']), (error: { readonly stdout: string }) => {
    assert.match(error.stdout, /line 1: the column name .* is given 2 times/);
    return true;
  });
  assert.equal((await published())[0], 1);
});

test('curl publishes a file that is written anew, also when it has become what it was before', {
  skip: withoutTools,
}, async (t) => {
  const { execute, published } = await start(t);
  for (const trades of [18, 17]) {
    await execute('bash', [
      '-ec',
      `printf 'chain,trades\\nbase,${trades}\\n' > trades.csv; ./publish.sh trades.csv 100`,
    ]);
  }
  assert.deepEqual(await published(), [3, [{ chain: 'base', trades: 17 }]]);
});

test('cron: the line of the crontab', { skip: withoutTools }, async (t) => {
  const { execute, published, key } = await start(t);
  await writeFile(join(folder, 'trades/export.sh'), "#!/bin/sh\nprintf 'chain,trades\\nbase,17\\ncelo,4\\n'\n", {
    mode: 0o755,
  });
  await writeFile(join(folder, 'trades/key'), key);
  const [crontab] = blocksOf('cron');
  const [, command = assert.fail('there is no line')] = /^15 6 \* \* \* (.*)$/m.exec(crontab?.text ?? '') ?? [];
  await execute('sh', ['-c', command]);
  assert.deepEqual(await published(), [2, TRADES]);
  await writeFile(join(folder, 'trades/export.sh'), '#!/bin/sh\necho chain,trades\nexit 1\n');
  await assert.rejects(execute('sh', ['-c', command]));
  assert.equal((await published())[0], 2);
});

const withoutPostgres = withoutTools || (isMissing('psql') && 'no psql') || POSTGRES_MISSING;

test('psql: a query that fails in the middle publishes nothing', { skip: withoutPostgres ?? false }, async (t) => {
  await using server = await PostgresServer.start();
  const { hostname, port, username, password, pathname } = new URL(server.address);
  const world = await start(t, {
    PGHOST: hostname,
    PGPORT: port,
    PGUSER: username,
    PGPASSWORD: password,
    PGDATABASE: pathname.slice(1),
  });
  await runBlocks(world, 'PostgreSQL: psql');
  const rows = [1, 2, 3].map((n) => ({ n, half: n / 2 }));
  assert.deepEqual(await world.published(), [2, rows]);
  await assert.rejects(
    runBlocks(world, 'PostgreSQL: psql', (text) => text.replace('n * 0.5', '1 / (999 - n)')),
    /division by zero/,
  );
  assert.equal((await world.published())[0], 2);
});

test('DuckDB', { skip: withoutEngines }, async (t) => {
  const world = await start(t);
  await runBlocks(world, 'DuckDB');
  assert.deepEqual(await world.published(), [2, NUMBERS]);
  const failing = runBlocks(world, 'DuckDB', (text) => text.replace('range * 0.5', "error('no')"));
  await assert.rejects(failing);
  assert.equal((await world.published())[0], 2);
});

test('ClickHouse: a query that fails publishes nothing', { skip: withoutEngines }, async (t) => {
  const world = await start(t);
  const [insert] = blocksOf('ClickHouse');
  const query = async (sql: string) => {
    const text = sql.replaceAll('http://127.0.0.1:8080', world.service.url).replaceAll('{KEY}', world.key);
    await world.execute('python', ['-c', 'import sys, chdb; chdb.query(sys.argv[1])', text]);
  };
  await query(insert?.text ?? '');
  const rows = [0, 1, 2].map((n) => ({ n: String(n), text: String(n) }));
  assert.deepEqual(await world.published(), [2, rows]);
  const failing = (insert?.text ?? '')
    .replace('number AS n', 'throwIf(number = 1500000) AS n')
    .replace('100000', '2000000');
  await assert.rejects(query(failing), /throwIf/);
  assert.equal((await world.published())[0], 2);
});

for (const name of ['pandas', 'Polars']) {
  test(name, { skip: withoutEngines }, async (t) => {
    const world = await start(t);
    await runBlocks(world, name);
    assert.deepEqual(await world.published(), [2, TRADES]);
  });
}

test('dbt, with dbt-duckdb: a build that fails publishes nothing', {
  skip: withoutEngines,
  timeout: 300_000,
}, async (t) => {
  const world = await start(t);
  await runBlocks(world, 'dbt');
  assert.deepEqual(await world.published(), [2, [{ chain: 'base', trades: 17 }]]);
  await assert.rejects(runBlocks(world, 'dbt', (text) => text.replace("'base' AS chain", 'nothing AS chain')));
  assert.equal((await world.published())[0], 2);
});

test('Airflow: its tasks, as functions', { skip: withoutEngines }, async (t) => {
  const world = await start(t);
  await mkdir(join(folder, 'trades/airflow'), { recursive: true });
  await writeFile(join(folder, 'trades/airflow/__init__.py'), '');
  await writeFile(join(folder, 'trades/airflow/sdk.py'), AIRFLOW);
  await runBlocks(world, 'Airflow');
  for (const attempt of [1, 2]) {
    await world.execute('python', [
      '-c',
      `import runpy, sys; sys.path.insert(0, '.'); runpy.run_path('dags/trades.py') # ${attempt}`,
    ]);
    assert.deepEqual(await world.published(), [1 + attempt, [{ chain: 'base', trades: 17 }]]);
  }
});

test('what is not tried says so', () => {
  const tried = [
    'Any file: curl',
    'cron',
    'PostgreSQL: psql',
    'DuckDB',
    'ClickHouse',
    'pandas',
    'Polars',
    'dbt',
    'Airflow',
  ];
  const others = [...sections].filter(([heading]) => !tried.includes(heading));
  for (const [heading, { text }] of others) assert.match(text, /Not tried\./, heading);
  assert.ok(sections.size >= 10);
});
