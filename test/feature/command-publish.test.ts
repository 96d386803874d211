/** `qrs publish`: what the command adds to publishing itself, which src/publishing tests. */
import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { formatColumnType } from '../../src/domain/column-type.ts';
import { NO_RESULTS_FOLDER } from '../s3-server.ts';
import { openBehind, storedKeys } from './behind-the-command.ts';
import { type CommandLine, makeCommandLine } from './command.ts';

const CSV = 'wallet,balance,note\n0xab,10000000000000000000000,"a,b"\n0xcd,7,\n';

async function withQuery(t: TestContext, environment: Readonly<Record<string, string>> = {}): Promise<CommandLine> {
  const qrs = await makeCommandLine(t, environment);
  await qrs.get('users', 'add', 'ann');
  await qrs.get('queries', 'add', '--id', '7', '--user', 'ann');
  return qrs;
}

async function storedResult(qrs: CommandLine, id: string) {
  await using behind = await openBehind(qrs);
  const catalog = await behind.catalog();
  const found = await catalog.executions.findResultSet(id);
  assert(found !== undefined);
  const columns = found.columns.map(({ name, type }) => `${name} ${formatColumnType(type)}`);
  return { columns, rowCount: found.rowCount, truncated: found.truncated };
}

test('a file becomes a finished run, and its id is printed alone', async (t) => {
  const qrs = await withQuery(t);
  const file = join(qrs.directory, 'balances.csv');
  await writeFile(file, CSV);
  const types = 'wallet=varbinary,balance=uint256';
  const { code, out, err } = await qrs.run([
    'publish',
    file,
    '--query',
    '7',
    '--types',
    types,
    '--param',
    'chain=base',
  ]);
  assert.deepEqual({ code, err }, { code: 0, err: '' });
  assert.match(out, /^[0-9A-HJKMNP-TV-Z]{26}\n$/);
  assert.deepEqual(await storedResult(qrs, out.trim()), {
    columns: ['wallet varbinary', 'balance uint256', 'note varchar'],
    rowCount: 2,
    truncated: false,
  });
  assert.deepEqual(JSON.parse(await qrs.get('executions', 'show', out.trim(), '--json')), {
    execution_id: out.trim(),
    query_id: 7,
    state: 'QUERY_STATE_COMPLETED',
    is_execution_finished: true,
    parameters: { chain: 'base' },
    submitted_at: '2024-03-05T20:50:59.123000Z',
    execution_started_at: '2024-03-05T20:50:59.123000Z',
    execution_ended_at: '2024-03-05T20:50:59.123000Z',
    expires_at: '2024-06-03T20:50:59.123000Z',
  });
});

test('standard input completes a run that was submitted before', async (t) => {
  const qrs = await withQuery(t);
  const id = await qrs.get('executions', 'submit', '--query', '7');
  await qrs.get('executions', 'start', id);
  const args = ['publish', '-', '--execution', id, '--format', 'ndjson', '--json'];
  const { code, out } = await qrs.run(args, '{"a":1}\n{"a":2}\n{"a":3}\n');
  assert.equal(code, 0);
  assert.equal(JSON.parse(out).execution_id, id);
  assert.equal(JSON.parse(out).state, 'QUERY_STATE_COMPLETED');
  assert.equal((await storedResult(qrs, id)).rowCount, 3);
  const again = await qrs.run(args, '{"a":1}\n');
  assert.deepEqual(again, {
    code: 1,
    out: '',
    err: `error: execution ${id} is COMPLETED: it cannot become COMPLETED\n`,
  });
});

test('retention and the largest result are settings', async (t) => {
  const qrs = await withQuery(t, { QRS_RETENTION_DAYS: '0.5', QRS_MAX_RESULT_BYTES: '20' });
  const published = await qrs.run(['publish', '-', '--query', '7', '--format', 'csv'], 'n\n1\n2\n3\n4\n');
  const id = published.out.trim();
  assert.equal(
    published.err,
    `warning: run ${id} is truncated after 2 rows, since more do not fit into QRS_MAX_RESULT_BYTES; it is read with allow_partial_results=true\n`,
  );
  assert.deepEqual(await storedResult(qrs, id), { columns: ['n bigint'], rowCount: 2, truncated: true });
  assert.match(await qrs.get('executions', 'show', id), /expires_at=2024-03-06T08:50:59\.123000Z/);
  qrs.now += 12 * 60 * 60 * 1000;
  assert.match(await qrs.get('executions', 'show', id), /state=QUERY_STATE_EXPIRED/);
});

test('a file that cannot be published: exit 1, one line, nothing changed', async (t) => {
  const qrs = await withQuery(t);
  const cases: readonly [readonly string[], RegExp][] = [
    [['publish', join(qrs.directory, 'nothing.csv'), '--query', '7'], /^error: there is no file .*nothing\.csv\n$/],
    [['publish', '-', '--query', '8', '--format', 'csv'], /^error: there is no query 8: add it first\n$/],
    [['publish', '-', '--query', '7', '--format', 'parquet'], /^error: [^\n]+\n$/],
    [['publish', '-', '--execution', '01HR0000000000000000000000'], /^error: execution 01HR0{22} does not exist\n$/],
  ];
  for (const [args, message] of cases) {
    const { code, out, err } = await qrs.run(args, 'a,b\n1,2\n');
    assert.deepEqual({ code, out }, { code: 1, out: '' }, args.join(' '));
    assert.match(err, message);
  }
  assert.equal(await qrs.get('executions', 'list'), '');
  await using behind = await openBehind(qrs);
  assert.deepEqual(await storedKeys(qrs), []);
  assert.deepEqual(await readdir(behind.directories.staging), []);
});

test('a file that needs an option is refused with the name of the option', async (t) => {
  const qrs = await withQuery(t);
  const file = join(qrs.directory, 'rows');
  const refused = async (content: string, format: string) => {
    await writeFile(file, content, 'latin1');
    return (await qrs.run(['publish', file, '--query', '7', '--format', format])).err;
  };
  assert.equal(
    await refused('name\ngröße\n', 'csv'),
    'error: line 2: the text is not UTF-8: say what it is, or save it as UTF-8 (--encoding latin-1, windows-1252, utf-16)\n',
  );
  assert.match(await refused('{"error":"no key"}\n', 'ndjson'), /declare its types \(--types error=varchar\)\n$/);
});

test('wrong usage: exit 2', async (t) => {
  const qrs = await withQuery(t);
  const id = '01HR0000000000000000000000';
  const cases: readonly [readonly string[], RegExp][] = [
    [['publish'], /missing required argument 'file'/],
    [['publish', '-'], /required option '--query <number>' not specified/],
    [['publish', '-', '--query', '7', '--format', 'xml'], /Allowed choices are parquet, csv, ndjson/],
    [['publish', '-', '--query', '7', '--types', 'a'], /A declaration is COLUMN=TYPE; "a" is none/],
    [['publish', '-', '--execution', id, '--param', 'a=b'], /--param is for a new run/],
  ];
  for (const [args, message] of cases) {
    const { code, err } = await qrs.run(args);
    assert.equal(code, 2, args.join(' '));
    assert.match(err, message);
  }
});

test('a folder that cannot be written to is named, with what to do; then nothing is left', {
  skip: NO_RESULTS_FOLDER,
}, async (t) => {
  const qrs = await withQuery(t);
  const publish = async () => await qrs.run(['publish', '-', '--query', '7'], 'n\n1\n');
  assert.equal((await publish()).code, 0);
  const staging = join(qrs.dataDir, 'results', 'staging');
  await rm(staging, { recursive: true });
  await writeFile(staging, '');
  assert.deepEqual(await publish(), {
    code: 1,
    out: '',
    err: `error: ${staging} is not a folder, or lies in something that is none; remove it (EEXIST)\n`,
  });
  await rm(staging);
  if (process.getuid?.() !== 0) {
    await mkdir(staging, { mode: 0o500 });
    const { code, err } = await publish();
    assert.deepEqual([code, err], [1, `error: this user may not write to ${staging}; give it the right to (EACCES)\n`]);
    await chmod(staging, 0o700);
  }
  assert.equal((await publish()).code, 0);
  assert.deepEqual(await readdir(staging), []);
});
