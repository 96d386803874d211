/** `qrs executions`: runs that an engine elsewhere carries out (contract §§3, 7). */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type CommandLine, makeCommandLine } from './command.ts';

async function withQuery(t: TestContext): Promise<CommandLine> {
  const qrs = await makeCommandLine(t);
  await qrs.get('users', 'add', 'ann');
  await qrs.get('queries', 'add', '--id', '7', '--user', 'ann');
  return qrs;
}

test('a run is submitted, started and failed; each step prints its id and leaves its time', async (t) => {
  const qrs = await withQuery(t);
  const id = await qrs.get(
    'executions',
    'submit',
    '--query',
    '7',
    '--param',
    'chain=base',
    '--param',
    'expression=a=b',
  );
  assert.match(id, /^[0-9A-HJKMNP-TV-Z]{26}$/);
  qrs.now += 1000;
  assert.equal(await qrs.get('executions', 'start', id), id);
  qrs.now += 1000;
  const args = ['--message', 'no such table: trades', '--type', 'syntax_error', '--line', '3', '--column', '9'];
  assert.equal(await qrs.get('executions', 'fail', id.toLowerCase(), ...args), id);
  assert.deepEqual(JSON.parse(await qrs.get('executions', 'show', id, '--json')), {
    execution_id: id,
    query_id: 7,
    state: 'QUERY_STATE_FAILED',
    is_execution_finished: true,
    parameters: { chain: 'base', expression: 'a=b' },
    submitted_at: '2024-03-05T20:50:59.123000Z',
    execution_started_at: '2024-03-05T20:51:00.123000Z',
    execution_ended_at: '2024-03-05T20:51:01.123000Z',
    error: { type: 'syntax_error', message: 'no such table: trades', metadata: { line: 3, column: 9 } },
  });
});

test('without --json, a run is shown as lines of name=value', async (t) => {
  const qrs = await withQuery(t);
  const id = await qrs.get('executions', 'submit', '--query', '7', '--param', 'chain=base');
  await qrs.get('executions', 'fail', id, '--message', 'first line\nsecond line');
  assert.equal(
    await qrs.get('executions', 'show', id),
    [
      `execution_id=${id}`,
      'query_id=7',
      'state=QUERY_STATE_FAILED',
      'is_execution_finished=true',
      'parameters.chain=base',
      'submitted_at=2024-03-05T20:50:59.123000Z',
      'execution_ended_at=2024-03-05T20:50:59.123000Z',
      'error.type=execution_error',
      'error.message=first line second line',
    ].join('\n'),
  );
});

test('with --json, every step prints the run as it is now', async (t) => {
  const qrs = await withQuery(t);
  const submitted = JSON.parse(await qrs.get('executions', 'submit', '--query', '7', '--json'));
  assert.equal(submitted.state, 'QUERY_STATE_PENDING');
  assert.equal(submitted.is_execution_finished, false);
  const cancelled = JSON.parse(await qrs.get('executions', 'cancel', submitted.execution_id, '--json'));
  assert.deepEqual(cancelled, {
    ...submitted,
    state: 'QUERY_STATE_CANCELLED',
    is_execution_finished: true,
    cancelled_at: '2024-03-05T20:50:59.123000Z',
  });
});

test('an illegal step is refused and changes nothing', async (t) => {
  const qrs = await withQuery(t);
  const id = await qrs.get('executions', 'submit', '--query', '7');
  await qrs.get('executions', 'cancel', id);
  const before = await qrs.get('executions', 'show', id);
  for (const [step, to] of [
    [['start', id], 'EXECUTING'],
    [['fail', id, '--message', 'x'], 'FAILED'],
    [['cancel', id], 'CANCELLED'],
  ] as const) {
    assert.deepEqual(await qrs.run(['executions', ...step]), {
      code: 1,
      out: '',
      err: `error: execution ${id} is CANCELLED: it cannot become ${to}\n`,
    });
  }
  assert.equal(await qrs.get('executions', 'show', id), before);
});

test('an id that does not exist is exit 1', async (t) => {
  const qrs = await withQuery(t);
  const id = '01HR0000000000000000000000';
  const missing = { code: 1, out: '', err: `error: execution ${id} does not exist\n` };
  assert.deepEqual(await qrs.run(['executions', 'show', id]), missing);
  assert.deepEqual(await qrs.run(['executions', 'start', id]), missing);
  assert.deepEqual(await qrs.run(['executions', 'submit', '--query', '8']), {
    code: 1,
    out: '',
    err: 'error: there is no query 8\n',
  });
});

test('runs are listed newest first, of a query or a state', async (t) => {
  const qrs = await withQuery(t);
  await qrs.get('queries', 'add', '--id', '8', '--user', 'ann');
  const submit = async (query: string) => {
    qrs.now += 1;
    return await qrs.get('executions', 'submit', '--query', query);
  };
  const [first, second, third] = [await submit('7'), await submit('8'), await submit('7')];
  await qrs.get('executions', 'start', first);
  const list = async (...args: readonly string[]) => (await qrs.get('executions', 'list', ...args)).split('\n');
  assert.deepEqual(await list(), [third, second, first]);
  assert.deepEqual(await list('--query', '7'), [third, first]);
  assert.deepEqual(await list('--state', 'executing'), [first]);
  assert.deepEqual(await list('--state', 'QUERY_STATE_PENDING', '--limit', '1'), [third]);
  assert.equal(JSON.parse(await qrs.get('executions', 'list', '--json')).length, 3);
  const more = 'these are the newest 2, and there are more: --limit lists them\n';
  assert.equal((await qrs.run(['executions', 'list', '--limit', '2'])).err, more);
  assert.equal((await qrs.run(['executions', 'list', '--limit', '3'])).err, '');
});

test('wrong usage is exit 2, with nothing on standard output', async (t) => {
  const qrs = await withQuery(t);
  const cases: readonly [readonly string[], RegExp][] = [
    [[], /^Usage: qrs /],
    [['frobnicate'], /^error: unknown command 'frobnicate'\n$/],
    [['user', 'list'], /^error: unknown command 'user'\n\(Did you mean users\?\)\n$/],
    [['executions'], /^Usage: qrs executions /],
    [['executions', 'submit'], /required option '--query <number>' not specified/],
    [['executions', 'submit', '--query', '7', '--parm', 'a=b'], /unknown option '--parm'/],
    [['executions', 'submit', '--query', '7', '--param', 'a'], /A parameter is NAME=VALUE/],
    [['executions', 'submit', '--query', '7', '--param', 'a=1', '--param', 'a=2'], /The parameter a is given twice/],
    [['executions', 'submit', '--query', '7', 'extra'], /too many arguments/],
    [['executions', 'show'], /missing required argument 'id'/],
    [['executions', 'show', '123'], /An execution id is 26 letters and digits/],
    [['executions', 'fail', '01HR0000000000000000000000'], /required option '--message <text>' not specified/],
    [['executions', 'fail', '01HR0000000000000000000000', '--message', 'x', '--column', '3'], /--column needs --line/],
    [['executions', 'list', '--state', 'done'], /A state is one of PENDING, EXECUTING/],
    [['executions', 'list', '--limit', '0'], /A limit is a whole number from 1 to 10000/],
  ];
  for (const [args, message] of cases) {
    const { code, out, err } = await qrs.run(args);
    assert.equal(code, 2, args.join(' '));
    assert.equal(out, '');
    assert.match(err, message);
  }
});

test('help that was asked for is on standard output, with exit 0', async (t) => {
  const qrs = await makeCommandLine(t);
  for (const args of [['--help'], ['help'], ['keys', 'create', '--help'], ['help', 'keys']]) {
    const { code, out, err } = await qrs.run(args);
    assert.equal(code, 0);
    assert.match(out, /^Usage: qrs /);
    assert.equal(err, '');
  }
});

test('--version prints the version of the package', async (t) => {
  const qrs = await makeCommandLine(t);
  assert.equal(await qrs.get('--version'), '1.2.3');
});
