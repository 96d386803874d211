/** Sharing what is on the screen: an address that needs no key, which is listed and can be ended. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rowTexts, skip, startExplorer } from './browser.ts';

const CSV = 'chain,amount\nbase,1\neth,22\nbase,333\n';

test('the columns and the filter on the screen are shared, listed, and ended', { skip }, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await service.publish(7, CSV);
  const key = await service.commandLine.get('keys', 'create', '--user', 'ann', '--scope', 'write');
  const page = await open("/queries/7?filters=chain = 'base'&columns=amount", { key });
  assert.deepEqual(await rowTexts(page, 1), ['1']);
  await page.getByText('Share', { exact: true }).click();
  const menu = page.locator('.share');
  await menu
    .getByText('the latest run, whichever that is then; the columns that are shown, the rows of this filter')
    .waitFor();
  await menu.getByLabel('How long').selectOption('for 7 days');
  await menu.getByRole('button', { name: 'Make an address' }).click();
  const url = await menu.getByLabel('The address').inputValue();
  const shared = async () => {
    const response = await fetch(`${url}/csv`);
    return [response.status, response.status === 200 ? await response.text() : ''];
  };
  assert.deepEqual(await shared(), [200, 'amount\n1\n333\n']);
  await menu.getByText("amount · where chain = 'base' · made Mar 5, 2024 · until Mar 12, 2024").waitFor();
  await menu.getByRole('button', { name: 'End' }).click();
  await menu.getByRole('button', { name: 'End' }).waitFor({ state: 'detached' });
  assert.deepEqual(await shared(), [404, '']);
  assert.deepEqual(complaints, []);
});

test('a run is shared as that run; a key that may not share is told so', { skip }, async (t) => {
  const { service, open } = await startExplorer(t);
  const { id } = await service.publish(7, CSV);
  const key = await service.commandLine.get('keys', 'create', '--user', 'ann', '--scope', 'write');
  const page = await open(`/executions/${id}`, { key });
  await page.getByText('Share', { exact: true }).click();
  await page.getByLabel('How long').selectOption('until it is ended');
  await page.getByRole('button', { name: 'Make an address' }).click();
  const url = await page.getByLabel('The address').inputValue();
  await service.publish(7, 'n\n1\n');
  assert.equal(await (await fetch(`${url}/csv`)).text(), CSV);
  await page.getByText('all columns · made Mar 5, 2024').waitFor();

  const reader = await open(`/executions/${id}`);
  await reader.getByText('Share', { exact: true }).click();
  await reader.getByRole('button', { name: 'Make an address' }).click();
  await reader.getByText('this API key may only read', { exact: true }).waitFor();
});
