/** Where there are no rows, the page says why and what to do. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { skip, startExplorer } from './browser.ts';

const DAY_MILLIS = 86_400_000;

test('waiting, running, failed, cancelled, expired, truncated, empty, never run, not there', { skip }, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  const { commandLine: qrs } = service;
  const begin = async (query: number) => {
    if (query > 0) await qrs.get('queries', 'add', '--id', String(query), '--user', 'ann').catch(() => undefined);
    return await qrs.get('executions', 'submit', '--query', String(query));
  };
  const waiting = await begin(1);
  const running = await begin(2);
  await qrs.get('executions', 'start', running);
  const failed = await begin(3);
  await qrs.get('executions', 'fail', failed, '--type', 'syntax_error', '--message', "mismatched input 'FORM'");
  const cancelled = await begin(4);
  await qrs.get('executions', 'cancel', cancelled);
  const expired = await service.publish(5, 'n\n1\n');
  qrs.now += 91 * DAY_MILLIS;
  const long = Array.from({ length: 100 }, (_, n) => `${n},${'x'.repeat(100)}`).join('\n');
  const truncated = await service.publish(6, `n,w\n${long}\n`, { resultBytesMax: 5000 });
  const empty = await service.publish(7, 'n\n');
  await qrs.get('queries', 'add', '--id', '8', '--user', 'ann');
  const page = await open('/');
  const sees = async (path: string, text: string) => {
    await page.goto(service.url + path);
    await page.getByText(text).first().waitFor();
  };
  await sees(`/executions/${waiting}`, 'This run waits for its turn');
  await sees(`/executions/${waiting}`, 'It is number 1 in the queue');
  await sees(`/executions/${running}`, 'This run goes on');
  await sees(`/executions/${failed}`, "mismatched input 'FORM'");
  await sees(`/executions/${cancelled}`, 'This run was cancelled');
  await sees(`/executions/${expired.id}`, 'The result of this run has expired');
  await sees(`/executions/${truncated.id}`, 'truncated');
  await page.locator('[id=cell-0-0]').waitFor();
  await sees(`/executions/${empty.id}`, 'This result has no rows');
  await sees('/queries/8', 'This query has never run');
  await sees('/queries/9', 'not found: Query not found or private');
  await sees('/executions/x', 'The requested execution ID (ID: x) is invalid.');
  await sees('/executions/%', 'The requested execution ID (ID: %) is invalid.');
  await sees('/queries/%E0', 'The requested query ID (ID: %E0) is invalid.');
  await sees(`/executions/${truncated.id}?filters=n < 0`, 'No row matches');
  await page.getByRole('button', { name: 'Show all rows' }).click();
  await page.locator('[id=cell-0-0]').waitFor();
  assert.deepEqual(complaints, []);
});

test('a run that waits moves up in the queue while it is looked at', { skip }, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  const { commandLine: qrs } = service;
  await qrs.get('queries', 'add', '--id', '1', '--user', 'ann');
  const before = await qrs.get('executions', 'submit', '--query', '1');
  qrs.now += 1000;
  const waiting = await qrs.get('executions', 'submit', '--query', '1');
  const page = await open(`/executions/${waiting}`);
  await page.getByText('It is number 2 in the queue.').waitFor();
  await qrs.get('executions', 'start', before);
  await page.getByText('It is number 1 in the queue.').waitFor();
  assert.deepEqual(complaints, []);
});
