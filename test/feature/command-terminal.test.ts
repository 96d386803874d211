/** What commands show at a terminal, where a script gets plain values: tables, progress, help, completion. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { type TestContext, test } from 'node:test';
import { EXAMPLES } from '../../src/cli/examples.ts';
import { ProgressLine } from '../../src/cli/progress-line.ts';
import { writeDemoSources } from '../../src/datasets/demo-sources/write-demo-sources.ts';
import { sleep } from '../real-time.ts';
import { makeCommandLine } from './command.ts';

async function furnished(t: TestContext) {
  const qrs = await makeCommandLine(t);
  await qrs.get('users', 'add', 'ann');
  await qrs.get('teams', 'add', 'research', '--member', 'ann');
  await qrs.get('queries', 'add', '--id', '1234567', '--user', 'ann', '--name', 'Trades');
  await qrs.get('queries', 'add', '--id', '8', '--team', 'research', '--private');
  return qrs;
}

test('lists are tables on a terminal, with the field names of the JSON', async (t) => {
  const qrs = await furnished(t);
  assert.equal(
    (await qrs.onTerminal('queries', 'list')).out,
    [
      'id       owner          visibility  archived  name',
      '8        team research  private',
      '1234567  user ann       public                Trades',
      '',
    ].join('\n'),
  );
  assert.equal((await qrs.onTerminal('users', 'list')).out, 'name  created_at\nann   2024-03-05 20:50:59\n');
  assert.equal(
    (await qrs.onTerminal('teams', 'list')).out,
    'name      members  created_at\nresearch  ann      2024-03-05 20:50:59\n',
  );
  const id = (await qrs.get('executions', 'submit', '--query', '8')).trim();
  assert.equal(
    (await qrs.onTerminal('executions', 'list')).out,
    [
      'execution_id                query_id  state    submitted_at         execution_ended_at  expires_at',
      `${id}  8         PENDING  2024-03-05 20:50:59`,
      '',
    ].join('\n'),
  );
});

test('keys are listed with their owner, and when they were revoked', async (t) => {
  const qrs = await furnished(t);
  await qrs.get('keys', 'create', '--team', 'research', '--name', 'nightly');
  const [id = ''] = (await qrs.get('keys', 'list')).split('\n');
  assert.match(id, /^[0-9a-z]{16}$/);
  qrs.now += 60_000;
  await qrs.get('keys', 'revoke', id);
  assert.equal(
    (await qrs.onTerminal('keys', 'list')).out,
    [
      'id                owner          name     scope  created_at           expires_at  last_used_at  revoked_at',
      `${id}  team research  nightly  read   2024-03-05 20:50:59                            2024-03-05 20:51:59`,
      '',
    ].join('\n'),
  );
});

test('on a narrow terminal names are cut; where ids would have to be cut, each item is a block', async (t) => {
  const qrs = await makeCommandLine(t);
  await qrs.get('users', 'add', 'ann');
  await qrs.get('queries', 'add', '--id', '8', '--user', 'ann', '--name', 'What was traded on each day of the year');
  qrs.columns = 50;
  assert.equal(
    (await qrs.onTerminal('queries', 'list')).out,
    'id  owner     visibility  archived  name\n8   user ann  public                What was trad…\n',
  );
  qrs.columns = 30;
  assert.equal(
    (await qrs.onTerminal('queries', 'list')).out,
    '-- 1 --\nid          8\nowner       user ann\nvisibility  public\narchived\nname        What was traded o…\n',
  );
});

test('an empty list is said on standard error, so it is never taken for a table', async (t) => {
  const qrs = await makeCommandLine(t);
  assert.deepEqual(await qrs.onTerminal('users', 'list'), {
    code: 0,
    out: '',
    err: 'no users yet; to add one: qrs users add NAME\n',
  });
  assert.deepEqual(await qrs.run(['users', 'list']), { code: 0, out: '', err: '' });
});

test('datasets are listed with the time and outcome of their last refresh', async (t) => {
  const qrs = await makeCommandLine(t);
  const table = (await qrs.onTerminal('datasets', 'list')).out.split('\n');
  assert.match(table[0] ?? '', /^name +path +query_id +refreshed_at +row_count +latest_state +next_refresh$/);
  assert.match(table[4] ?? '', /^points +\/v1\/points\/alpha\/pts +990000001 +never +2024-03-06 00:00:00$/);
});

test('a progress line is overwritten, and removed at the end; a pipe gets none', () => {
  for (const [isTerminal, expected] of [
    [true, '\r\u001b[Kone\r\u001b[Ktwo\r\u001b[K'],
    [false, ''],
  ] as const) {
    let written = '';
    {
      using line = new ProgressLine({ isTerminal, write: (text) => (written += text) });
      line.show('one');
      line.show('one');
      line.show('two');
    }
    assert.equal(written, expected);
  }
});

test('long work shows its progress on a terminal', async (t) => {
  const qrs = await makeCommandLine(t);
  assert.match((await qrs.onTerminal('sweep')).err, /swept 0 results and 0 leftovers, 0 B/);
  await writeDemoSources(`${qrs.dataDir}/sources`, { size: 'small', until: qrs.now, signal: t.signal, sleep });
  const { err } = await qrs.onTerminal('datasets', 'refresh', 'operator-to-avs-mapping');
  assert.match(err, /refreshing operator-to-avs-mapping, 1 of 1/);
  assert.match((await qrs.onTerminal('verify')).err, /checked 1 stored object\b/);
});

test('qrs help KEYS CREATE is the help of that command; for an unknown word the nearest is named', async (t) => {
  const qrs = await makeCommandLine(t);
  assert.deepEqual(await qrs.run(['help', 'keys', 'create']), await qrs.run(['keys', 'create', '--help']));
  assert.deepEqual(await qrs.run(['help']), await qrs.run(['--help']));
  assert.match((await qrs.run(['help', 'keys'])).out, /^Usage: qrs keys /);
  assert.deepEqual(await qrs.run(['help', 'keys', 'creat']), {
    code: 2,
    out: '',
    err: 'error: there is no command qrs keys creat; did you mean qrs keys create?\n',
  });
});

test('help ends with examples of the command', async (t) => {
  const qrs = await makeCommandLine(t);
  for (const [path, lines] of Object.entries(EXAMPLES)) {
    const { code, out } = await qrs.run([...path.split(' '), '--help']);
    assert.equal(code, 0);
    assert.ok(out.endsWith(`\nExamples:\n${lines.map((line) => `  ${line}\n`).join('')}`), `${path}: ${out}`);
    for (const line of lines) assert.ok(line.includes(`qrs ${path}`), line);
  }
});

test('the bash script completes commands, options and values', async (t) => {
  const qrs = await makeCommandLine(t);
  const script = await qrs.get('completion', 'bash');
  const complete = (...words: readonly string[]) => {
    const line = ['qrs', ...words].map((word) => `'${word}'`).join(' ');
    const ask = `${script}\nCOMP_WORDS=(${line}); COMP_CWORD=${words.length}; _qrs; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { status, stdout, error } = spawnSync('bash', ['--norc', '-c', ask], { encoding: 'utf8', timeout: 20_000 });
    if (error !== undefined && 'code' in error && error.code === 'ENOENT') return undefined;
    assert.equal(status, 0);
    return stdout.trim().split('\n');
  };
  if (complete('') === undefined) return t.skip('there is no bash here');
  assert.deepEqual(complete('us'), ['users', 'usage']);
  assert.deepEqual(complete('keys', ''), ['create', 'list', 'revoke']);
  assert.deepEqual(complete('keys', 'create', '--n'), ['--name']);
  assert.deepEqual(complete('publish', 'a.csv', '--query', '7', '--format', ''), ['parquet', 'csv', 'ndjson']);
  assert.deepEqual(complete('completion', 'z'), ['zsh']);
  assert.deepEqual(complete('publish', ''), [''], 'nothing of its own, so that bash offers files');
});

test('the zsh and fish scripts name every command and describe it', async (t) => {
  const qrs = await makeCommandLine(t);
  const zsh = await qrs.get('completion', 'zsh');
  assert.match(zsh, /^#compdef qrs\n/);
  assert.match(zsh, /'keys create'\) found=\('--user:the user that the key acts for' /);
  const fish = await qrs.get('completion', 'fish');
  assert.match(fish, /complete -c qrs -n "__qrs_at 'keys'" -a revoke -d 'revoke a key; a running service stops/);
  assert.match(fish, /complete -c qrs -n "__qrs_at 'publish'" -l format -r -a 'parquet csv ndjson' -d /);
  for (const path of Object.keys(EXAMPLES)) assert.ok(fish.includes(`set at '${path}'`), path);
});

test('every command has an example', async (t) => {
  const qrs = await makeCommandLine(t);
  const commands = [...(await qrs.get('completion', 'fish')).matchAll(/set at '([^']+)'/g)].map(
    ([, path]) => path ?? '',
  );
  const groups = new Set(commands.map((path) => path.split(' ').slice(0, -1).join(' ')));
  assert.deepEqual(commands.filter((path) => !groups.has(path)).sort(), Object.keys(EXAMPLES).sort());
});

test('--version prints the version of the package', async (t) => {
  const qrs = await makeCommandLine(t);
  assert.deepEqual(await qrs.run(['--version']), { code: 0, out: '1.2.3\n', err: '' });
});
