/**
 * Hostile names and values in every parameter, and hostile column names in published files. Nothing that a user wrote is ever
 * in the text of a statement, nothing outside the results is read, and nothing is changed.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { DuckDb } from '../../src/duckdb/duckdb.ts';
import type { Statement } from '../../src/duckdb/statement.ts';
import { getEnvelope } from './http-client.ts';
import { type HttpService, startHttpService } from './http-service.ts';

const RESULTS = '/v1/query/7/results';

/** In everything hostile. No statement's text may have it. */
const MARK = 'zq7mark';
const SECRET = 'the sentinel must not be read';

/** @param directory has a sentinel file, and must not get another */
function hostileTexts(directory: string): readonly string[] {
  const [secret, written] = [join(directory, 'sentinel.txt'), join(directory, 'written.csv')];
  return [
    `${MARK}'; DROP TABLE results; --`,
    `${MARK}" OR 1=1 --`,
    `' OR '1'='1' /* ${MARK} */`,
    `${MARK}'); COPY (SELECT 1) TO '${written}'; --`,
    `${MARK}"; ATTACH '${written}' AS other; --`,
    `${MARK}'; INSTALL httpfs; LOAD httpfs; --`,
    `${MARK}'; SET enable_external_access = true; --`,
    `(SELECT content FROM read_text('${secret}')) /* ${MARK} */`,
    `read_text('${secret}') = '${MARK}'`,
    `${MARK} = (SELECT 1) UNION ALL SELECT * FROM read_text('${secret}')`,
    `c0) FROM read_parquet('${secret}') -- ${MARK}`,
    `$1 $2 $$${MARK}$$ ? :${MARK} @${MARK}`,
    `${MARK}\0\u0001\u2028\n\r\t\\'\\"`,
    `{"${MARK}":1}[*].$`,
    `../../${MARK}/%2e%2e/%00`,
    `__proto__.${MARK}`,
    `${MARK}${'('.repeat(2000)}`,
    `${MARK}\u{1f600}\ud800`,
  ];
}

interface Watched {
  readonly service: HttpService;
  /** Every statement since the service was ready. */
  readonly statements: readonly Statement[];
  /** Every DuckDB of the service that answers requests or makes views. */
  readonly duckDbs: ReadonlySet<DuckDb>;
}

/** Column 0 is `n`; the others have hostile names, and the one row hostile values. */
async function start(t: TestContext, names: (directory: string) => readonly string[]): Promise<Watched> {
  const service = await startHttpService(t, { QRS_DIRECT_ROWS: '0' });
  const { directory } = service.commandLine;
  await writeFile(join(directory, 'sentinel.txt'), SECRET);
  const hostile = names(directory).map((name) => name.replaceAll('\0', '').toWellFormed());
  const row = Object.fromEntries([['n', 1], ...hostile.map((name) => [name, name])]);
  const next = Object.fromEntries([['n', 2], ...hostile.map((name) => [name, 'harmless'])]);
  await service.publish(7, `${JSON.stringify(row)}\n${JSON.stringify(next)}\n`, { format: 'ndjson' });
  const statements: Statement[] = [];
  const duckDbs = new Set<DuckDb>();
  const query = DuckDb.prototype.query;
  t.mock.method(DuckDb.prototype, 'query', async function (this: DuckDb, statement: Statement, signal: AbortSignal) {
    statements.push(statement);
    duckDbs.add(this);
    return await query.call(this, statement, signal);
  });
  // Pages of every kind, so that every instance is known.
  for (const page of ['', '?sample_count=1', '?filters=n%3E0', '?filters=n%3E0&offset=1', '/csv?filters=n%3E0']) {
    assert.equal((await service.get(RESULTS + page)).status, 200);
  }
  const known = new Set(duckDbs);
  assert(known.size >= 2);
  return { service, statements, duckDbs: known };
}

/** All that a statement could have changed: DuckDB's settings, tables and databases, and the service's files. */
async function worldOf({ service, duckDbs }: Watched, signal: AbortSignal): Promise<readonly unknown[]> {
  const world: unknown[] = [];
  for (const duckDb of duckDbs) {
    for (const text of [
      'SELECT name, value FROM duckdb_settings() ORDER BY name',
      'SELECT database_name, path FROM duckdb_databases() ORDER BY 1',
      'SELECT table_name FROM duckdb_tables() ORDER BY 1',
      'SELECT function_name FROM duckdb_functions() WHERE NOT internal',
    ]) {
      world.push(await duckDb.query({ text, values: [] }, signal));
    }
  }
  const { directory } = service.commandLine;
  for (const path of (await readdir(directory, { recursive: true })).toSorted()) {
    // Views come and go, so does what is fetched from a store in S3, and the catalog counts usage.
    if (/^data\/(views|tmp|catalog|fetched)/.test(path)) continue;
    const bytes = await readFile(join(directory, path)).catch(() => '');
    world.push([path, createHash('sha256').update(bytes).digest('hex')]);
  }
  return world;
}

function assertNothingTyped(statements: readonly Statement[]): void {
  for (const { text } of statements) assert(!text.includes(MARK), text);
}

test('hostile values through every parameter are data, or refused', async (t) => {
  const watched = await start(t, () => ['w']);
  const { service, statements } = watched;
  const before = await worldOf(watched, t.signal);
  const typed = hostileTexts(service.commandLine.directory);
  const expressions = (text: string): readonly string[] => [
    text,
    `w = '${text.replaceAll("'", "''")}'`,
    `w like '${text.replaceAll("'", "''").slice(0, 50)}%' escape '!'`,
    `w in ('${text.replaceAll("'", "''")}', "${text.replaceAll('"', '""')}")`,
    `"${text.replaceAll('"', '""')}" = 1`,
    `not contains(w, '${text.replaceAll("'", "''")}')`,
  ];
  const asked: string[] = [];
  for (const text of typed) {
    const forms: readonly Readonly<Record<string, string>>[] = [
      ...expressions(text).flatMap((filters) => [{ filters }, { filters, offset: '1' }]),
      { sort_by: text },
      { sort_by: `"${text.replaceAll('"', '""')}" desc` },
      { columns: text },
      { columns: `"${text.replaceAll('"', '""')}"` },
      ...['limit', 'offset', 'sample_count', 'allow_partial_results', 'ignore_max_datapoints_per_request'].map(
        (name) => ({ [name]: text }),
      ),
      ...['execution_id', 'queryID', 'api_key', `params.${MARK}`, `params.${text}`].map((name) => ({ [name]: text })),
      { [text]: text },
    ];
    asked.push(...forms.map((form) => `${RESULTS}?${new URLSearchParams(form)}`));
    asked.push(...forms.slice(0, 3).map((form) => `${RESULTS}/csv?${new URLSearchParams(form)}`));
    const inPath = encodeURIComponent(text.toWellFormed());
    asked.push(`/v1/execution/${inPath}/results`, `/v1/query/${inPath}/results`, `/v1/${inPath}`);
  }
  for (const path of asked) {
    const response = await service.get(path);
    const body = await response.text();
    assert([200, 400, 404].includes(response.status), `${response.status} for ${path}: ${body}`);
    assert(!body.includes(SECRET), path);
    if (response.status !== 200) assert.equal(typeof JSON.parse(body).error, 'string');
  }
  for (const key of typed) {
    const response = await service.get(`${RESULTS}?${new URLSearchParams({ api_key: key })}`, { key: '' });
    assert.equal(response.status, 401);
  }
  assert.deepEqual(service.faults, []);
  assertNothingTyped(statements);
  assert(statements.some(({ values }) => values.some((value) => String(value).includes(MARK))));
  assert.deepEqual(await worldOf(watched, t.signal), before);
  assert(!existsSync(join(service.commandLine.directory, 'written.csv')));
});

test('hostile column names in a published file are names like any other', async (t) => {
  const watched = await start(t, (directory) => [
    ...hostileTexts(directory),
    'c0',
    'C0',
    'file_row_number',
    'file_index',
    'position',
    'row_bytes',
    'select',
    'null',
    '',
  ]);
  const { service, statements } = watched;
  const before = await worldOf(watched, t.signal);
  const { result } = await getEnvelope(service, RESULTS);
  const names = result.metadata.column_names.filter((name) => name !== 'n');
  assert.equal(names.length, hostileTexts('').length + 9);
  for (const name of names) {
    const quoted = `"${name.replaceAll('"', '""')}"`;
    const filters = `${quoted} = 'harmless'`;
    // A backslash before a quote is an escape in `columns`, and only there.
    const columns = name.includes('\\"') ? undefined : quoted;
    const parameters = new URLSearchParams({ filters, sort_by: `${quoted} desc`, ...(columns && { columns }) });
    for (const offset of ['', '&ignore_max_datapoints_per_request=1']) {
      const page = await getEnvelope(service, `${RESULTS}?${parameters}${offset}`);
      assert.equal(page.result.rows.length, 1, name);
      assert.equal(page.result.rows[0]?.[name], 'harmless');
      if (columns !== undefined) assert.deepEqual(page.result.metadata.column_names, [name]);
    }
    const csv = await service.get(`${RESULTS}/csv?${parameters}`);
    assert.equal(csv.status, 200);
  }
  assert.deepEqual(service.faults, []);
  assertNothingTyped(statements);
  assert.deepEqual(await worldOf(watched, t.signal), before);
});

test('SQL that got through all the same would find nothing but results', async (t) => {
  const watched = await start(t, () => ['w']);
  const { service, duckDbs } = watched;
  const before = await worldOf(watched, t.signal);
  const { directory, dataDir } = service.commandLine;
  const [secret, written] = [join(directory, 'sentinel.txt'), join(directory, 'written')];
  const refused = [
    `SELECT * FROM read_text('${secret}')`,
    `SELECT * FROM read_blob('${secret}')`,
    `SELECT * FROM read_csv('${secret}')`,
    `SELECT * FROM '${dataDir}/catalog.sqlite'`,
    `SELECT * FROM read_text('${dataDir}/results/../catalog.sqlite')`,
    `SELECT * FROM read_text('/etc/passwd')`,
    `COPY (SELECT 1) TO '${written}.csv'`,
    `ATTACH '${written}.db' AS other`,
    `EXPORT DATABASE '${written}'`,
    'INSTALL httpfs',
    'LOAD httpfs',
    `SELECT * FROM read_parquet('https://example.com/x.parquet')`,
    'SET enable_external_access = true',
    `SET allowed_directories = ['/']`,
    'SET GLOBAL threads = 64',
    'RESET memory_limit',
    'PRAGMA enable_logging',
  ];
  for (const duckDb of duckDbs) {
    for (const text of refused) {
      await assert.rejects(duckDb.query({ text, values: [] }, t.signal), /Error/, text);
    }
  }
  assert.deepEqual(await worldOf(watched, t.signal), before);
  assert.deepEqual(
    (await readdir(directory)).filter((name) => name.startsWith('written')),
    [],
  );
});
