/** With `QRS_PUBLIC_KEY`, visitors who have no key see what everybody may see, and nothing more. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openServer } from '../feature/http-service.ts';
import { rowTexts, skip, startExplorer } from './browser.ts';

test('visitors without a key see public queries and their rows, and no private ones', { skip }, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  const { commandLine: qrs } = service;
  await service.publish(7, 'chain,amount\nbase,1\neth,22\n');
  await qrs.get('queries', 'add', '--id', '8', '--user', 'ann', '--private');
  const { id: hidden } = await service.publish(8, 'secret\n42\n');
  await qrs.get('users', 'add', 'visitors');
  const key = await qrs.get('keys', 'create', '--user', 'visitors', '--scope', 'read');
  const { server, close } = await openServer(qrs, { QRS_PUBLIC_KEY: key });
  t.after(close);

  const page = await open('/', { key: '', url: server.url });
  // The four curated datasets, and query 7.
  await page.getByText('5 queries', { exact: true }).waitFor();
  assert.equal(await page.getByRole('link', { name: 'Query 8' }).count(), 0);
  await page.getByRole('link', { name: 'Query 7' }).click();
  assert.deepEqual(
    [await rowTexts(page, 1), await rowTexts(page, 2)],
    [
      ['base', '1'],
      ['eth', '22'],
    ],
  );
  for (const path of ['/queries/8', `/executions/${hidden}`]) {
    await page.goto(server.url + path);
    await page.getByText('not found').first().waitFor();
    assert.equal(await page.getByText('42').count(), 0, path);
  }
  assert.equal(await page.evaluate('sessionStorage.length'), 0);
  assert.equal(await page.getByRole('button', { name: 'Leave' }).count(), 0, 'there is no key of their own to forget');

  // Ann has a key.
  await page.getByRole('button', { name: 'Enter a key' }).click();
  await page.getByLabel('API key').fill(service.key);
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Queries' }).click();
  await page.getByText('6 queries', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Query 8' }).click();
  assert.deepEqual(await rowTexts(page, 1), ['42']);
  assert.deepEqual(complaints, []);
});

test('where QRS_PUBLIC_KEY is revoked, visitors are asked for a key', { skip }, async (t) => {
  const { service, open } = await startExplorer(t, { QRS_PUBLIC_KEY: 'qrs_revoked' });
  const page = await open('/', { key: '' });
  await page.getByLabel('API key').fill(service.key);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Queries' }).waitFor();
});
