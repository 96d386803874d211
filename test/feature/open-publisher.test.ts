/** Publishing from a program, without an installed package (package.test.ts has that): where the settings come from. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { requireNode } from '../../src/library/node-version.ts';
import { IllegalTransition, openPublisher, StartupError } from '../../src/publisher.ts';
import { makeCommandLine } from './command.ts';

test('the given configuration file is read; the environment wins over it', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'qrs-publisher-'));
  t.after(async () => await rm(directory, { recursive: true, force: true }));
  const qrs = await makeCommandLine(t);
  await qrs.get('users', 'add', 'ann');
  await qrs.get('queries', 'add', '--id', '7', '--user', 'ann');
  const file = join(directory, 'qrs.env');
  await writeFile(file, `QRS_DATA_DIR=${qrs.dataDir}\nQRS_RETENTION_DAYS=3\n`);
  await using publisher = await openPublisher({ QRS_CONFIG_FILE: file, QRS_RETENTION_DAYS: '2' });
  const source = { kind: 'stream', stream: Readable.from([Buffer.from('n\n1\n')]) } as const;
  const { id, endedAt = 0, expiresAt = 0 } = await publisher.publish({ queryId: 7, source, format: 'csv' });
  assert.equal(expiresAt - endedAt, 2 * 86_400_000);
  assert.equal(await qrs.get('executions', 'list', '--query', '7'), id);
});

test('a configuration file that does not exist is refused', async () => {
  await assert.rejects(openPublisher({ QRS_CONFIG_FILE: '/none/qrs.env' }), {
    message: 'QRS_CONFIG_FILE names /none/qrs.env, which does not exist',
  });
});

async function publisherOf100(t: TestContext) {
  const qrs = await makeCommandLine(t);
  await qrs.get('users', 'add', 'ann');
  await qrs.get('queries', 'add', '--id', '100', '--user', 'ann');
  const publisher = await openPublisher({ QRS_DATA_DIR: qrs.dataDir });
  t.after(async () => await publisher[Symbol.asyncDispose]());
  return { qrs, publisher };
}

test('a run is submitted, started and completed with rows', async (t) => {
  const { qrs, publisher } = await publisherOf100(t);
  const run = await publisher.submit({ queryId: 100, parameters: { day: '2024-03-05' } });
  assert.deepEqual([run.state, run.parameters], ['PENDING', { day: '2024-03-05' }]);
  assert.equal((await publisher.start(run.id)).state, 'EXECUTING');
  const rows = [{ n: 1n }, { n: 2n ** 100n }];
  const done = await publisher.publish({ queryId: 100, executionId: run.id, source: { kind: 'rows', rows } });
  assert.deepEqual([done.id, done.state], [run.id, 'COMPLETED']);
  const shown = JSON.parse(await qrs.get('executions', 'show', run.id, '--json'));
  assert.deepEqual([shown.state, shown.parameters], ['QUERY_STATE_COMPLETED', { day: '2024-03-05' }]);
});

test('a run fails or is cancelled; after that it cannot be changed', async (t) => {
  const { publisher } = await publisherOf100(t);
  const failed = await publisher.submit({ queryId: 100 });
  const { state, error } = await publisher.fail(failed.id, { message: 'no table trades', line: 3, column: 8 });
  assert.deepEqual(
    [state, error],
    ['FAILED', { type: 'execution_error', message: 'no table trades', line: 3, column: 8 }],
  );
  const cancelled = await publisher.submit({ queryId: 100 });
  assert.equal((await publisher.cancel(cancelled.id)).state, 'CANCELLED');
  await assert.rejects(publisher.start(failed.id), {
    name: 'IllegalTransition',
    from: 'FAILED',
    message: `execution ${failed.id} is FAILED: it cannot become EXECUTING`,
  });
  const source = { kind: 'rows', rows: [{ n: 1 }] } as const;
  await assert.rejects(publisher.publish({ queryId: 100, executionId: cancelled.id, source }), IllegalTransition);
});

test('input that a run cannot have is refused, and named', async (t) => {
  const { publisher } = await publisherOf100(t);
  const refused = async (work: Promise<unknown>, name: string, message: string) =>
    await assert.rejects(work, { name, message });
  const source = { kind: 'rows', rows: [{ n: 1 }] } as const;
  const day = 5 as unknown as string;
  const noText = 'the parameter "day" is no text: its value is a number';
  await refused(publisher.submit({ queryId: 100, parameters: { day } }), 'PublishError', noText);
  await refused(publisher.publish({ queryId: 100, source, parameters: { day } }), 'PublishError', noText);
  const long = { day: 'x'.repeat(2001) };
  const tooLong = "a parameter's name has at most 100 characters, its value 2000";
  await refused(publisher.submit({ queryId: 100, parameters: long }), 'PublishError', tooLong);
  await refused(publisher.submit({ queryId: 7 }), 'CatalogConflict', 'there is no query 7');
  const { id } = await publisher.submit({ queryId: 100 });
  const publication = { queryId: 100, source, executionId: id, parameters: {} };
  const own = 'parameters are for a new run: the one of executionId has its own already';
  await refused(publisher.publish(publication), 'PublishError', own);
  await refused(
    publisher.fail(id, { message: ' ' }),
    'PublishError',
    'the message of an error has 1 to 10000 characters',
  );
  const place = 'the column of an error needs its line';
  await refused(publisher.fail(id, { message: 'x', column: 3 }), 'PublishError', place);
  const noType =
    'types, column "n": type "numbr", position 1: found "numbr", expected a type name such as varchar, bigint, decimal(10, 3) or timestamp(3) with time zone';
  await refused(publisher.publish({ queryId: 100, source, types: { n: 'numbr' } }), 'ColumnTypeError', noType);
});

test('a Node that is too old is named at once', () => {
  assert.throws(() => requireNode('20.20.2'), {
    name: 'StartupError',
    message: 'openPublisher needs Node 22.16 or later, and this is Node 20.20.2',
  });
  assert.throws(() => requireNode('22.15.9'), StartupError);
  for (const version of ['22.16.0', '23.0.0', '24.21.0', '100.0.0-nightly']) requireNode(version);
});
