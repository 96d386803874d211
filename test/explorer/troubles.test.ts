/** What goes wrong is told in words, and what may pass can be tried again: a service that is busy, a link that is old, a browser that keeps nothing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { rowTexts, skip, startExplorer } from './browser.ts';

const CSV = `n,chain\n${Array.from({ length: 250 }, (_, n) => `${n},${n % 2 === 0 ? 'base' : 'celo'}\n`).join('')}`;
const BUSY = { status: 503, headers: { 'x-error-code': 'overloaded' }, body: '{"error":"too busy at the moment"}' };
/** What a browser says on its console of an answer that is BUSY. */
const SAID = ['Failed to load resource: the server responded with a status of 503 (Service Unavailable)'];

/** Answers the first request of which this holds with BUSY. */
async function failOnce(page: Page, holds: (method: string, url: string) => boolean): Promise<void> {
  let isDone = false;
  await page.route('**/results?*', async (route) => {
    const request = route.request();
    if (isDone || !holds(request.method(), request.url())) return await route.continue();
    isDone = true;
    return await route.fulfill(BUSY);
  });
}

test('rows that could not be counted are counted when it is tried again', { skip }, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await service.publish(7, CSV);
  const page = await open('/queries/7');
  await rowTexts(page, 1);
  await failOnce(page, (_, url) => url.includes('count=exact'));
  await page.getByLabel('Filter', { exact: true }).fill('n < 5');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').filter({ hasText: 'too busy at the moment' }).waitFor();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.locator('.counts', { hasText: '5 of 250 rows' }).waitFor();
  assert.deepEqual(await rowTexts(page, 5), ['4', 'base']);
  assert.deepEqual(complaints, SAID);
});

test('a link that names a column which the latest run has no more says so, and leads to all of them', {
  skip,
}, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await service.publish(7, CSV);
  const page = await open('/queries/7?columns=chian');
  const told = 'there is no column "chian". Did you mean "chain"?';
  await page.getByRole('alert').filter({ hasText: told }).waitFor();
  await page.getByRole('button', { name: 'Show all' }).click();
  assert.deepEqual(await rowTexts(page, 2), ['1', 'celo']);
  assert.deepEqual(complaints, []);
});

test('a result that expires while it is shown is told as that', { skip }, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await service.publish(7, CSV);
  const page = await open('/queries/7');
  await rowTexts(page, 1);
  service.commandLine.now += 91 * 86_400_000;
  await page.getByLabel('Filter', { exact: true }).fill('n < 5');
  await page.keyboard.press('Enter');
  const told = 'The result of this run has expired since the page was opened.';
  await page.getByRole('alert').filter({ hasText: 'The rows could not be read' }).waitFor();
  assert.match(await page.getByRole('alert').innerText(), new RegExp(told));
  await page.getByRole('link', { name: 'Chart' }).click();
  await page.getByRole('alert').filter({ hasText: told }).waitFor();
  assert.deepEqual(complaints, []);
});

test('the page of a proxy where people sign in is told as none of the service, and saved as no file', {
  skip,
}, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await service.publish(7, CSV);
  const page = await open('/docs', { key: '' });
  await page.addInitScript('delete window.showSaveFilePicker');
  await page.goto(`${service.url}/queries/7#key=${service.key}`);
  await rowTexts(page, 1);
  const signIn = { status: 200, contentType: 'text/html; charset=utf-8', body: '<h1>Sign in</h1>' };
  await page.route('**/v1/**', async (route) => await route.fulfill(signIn));
  const told = 'The answer is not one of this service. A proxy may want you to sign in again: load the page again.';
  await page.getByText('Download', { exact: true }).click();
  const saved: string[] = [];
  page.on('download', (download) => saved.push(download.suggestedFilename()));
  for (const format of ['CSV', 'NDJSON', 'JSON', 'Parquet']) {
    await page.getByRole('button', { name: format, exact: true }).click();
    await page.getByText(`Failed: ${told}`).waitFor();
  }
  await page.getByLabel('Filter', { exact: true }).fill('n < 5');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').filter({ hasText: told }).waitFor();
  await page.getByRole('link', { name: 'Queries', exact: true }).click();
  await page.getByRole('heading', { name: 'No usable answer came' }).waitFor();
  assert.deepEqual(saved, []);
  assert.deepEqual(complaints, []);
});

test('where the price of a download cannot be told, that is said', { skip }, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await service.publish(7, CSV);
  const page = await open('/queries/7');
  await rowTexts(page, 1);
  await failOnce(page, (method) => method === 'HEAD');
  await page.getByText('Download', { exact: true }).click();
  await page.getByText('What it costs is not known.').waitFor();
  assert.deepEqual(complaints, SAID);
});

test('a key that was copied with quotes or with a blank of no width is told as that, and not sent', {
  skip,
}, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await service.publish(7, CSV);
  const page = await open('/queries/7', { key: '' });
  for (const copied of [`“${service.key}”`, `${service.key}\u200b`]) {
    await page.getByLabel('API key').fill(copied);
    await page.keyboard.press('Enter');
    await page.getByRole('alert').filter({ hasText: 'a character that no key has' }).waitFor();
    assert.equal(await page.evaluate('sessionStorage.length'), 0);
  }
  await page.getByLabel('API key').fill(`  ${service.key}\u00a0`);
  await page.keyboard.press('Enter');
  assert.deepEqual(await rowTexts(page, 1), ['0', 'base']);
  assert.deepEqual(complaints, []);
});

test('in a browser that forbids storage the key is kept in the page, until it is loaded again', { skip }, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await service.publish(7, CSV);
  const page = await open('/docs', { key: '' });
  const denied = "throw new DOMException('The request was denied', 'SecurityError')";
  await page.addInitScript(`Object.defineProperty(window, 'sessionStorage', { get() { ${denied} } })`);
  await page.goto(`${service.url}/queries/7`);
  await page.getByLabel('API key').fill(service.key);
  await page.keyboard.press('Enter');
  assert.deepEqual(await rowTexts(page, 1), ['0', 'base']);
  await page.getByRole('button', { name: 'Leave' }).click();
  await page.getByLabel('API key').waitFor();
  await page.goto(`${service.url}/queries/7?limit=1#key=${service.key}`);
  assert.deepEqual(await rowTexts(page, 1), ['0', 'base']);
  assert.deepEqual(complaints, []);
});

/** Holds answers back until the function that is returned is called. */
async function holdAnswers(page: Page, addresses: string): Promise<() => void> {
  const { promise: until, resolve: release } = Promise.withResolvers<void>();
  await page.route(addresses, async (route) => {
    await until;
    // The page may not want it any more.
    await route.continue().catch(() => undefined);
  });
  return release;
}

test('while an answer is slow, no chart of other rows or columns is shown as if it were of these', {
  skip,
}, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await service.publish(7, CSV);
  const page = await open('/queries/7?tab=chart&chart=bar&x=chain');
  const chart = page.locator('.chart');
  await chart.getByText('All 250 rows. Bars are the mean of n, the 2 highest.').waitFor();
  const release = await holdAnswers(page, '**/results?*');
  await page.getByLabel('Up').selectOption('number of rows');
  await chart.getByText('Loading rows').waitFor();
  assert.equal(await chart.locator('svg').count(), 0);
  release();
  await chart.getByText('All 250 rows. Bars are numbers of rows, the 2 highest.').waitFor();
  assert.deepEqual(complaints, []);
});

test('while an answer is slow, no difference by another key is shown, and a list says of what it is', {
  skip,
}, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  for (let id = 1; id <= 51; id += 1) {
    await service.commandLine.get('queries', 'add', '--id', String(id), '--user', 'ann');
  }
  const before = await service.publish(7, 'n,chain\n1,base\n');
  service.commandLine.now += 1000;
  await service.publish(7, 'n,chain\n1,celo\n');
  const page = await open(`/queries/7?since=${before.id}`);
  await page.getByText('1 added, 1 removed, 0 changed').waitFor();
  const release = await holdAnswers(page, '**/diff/**');
  await page.getByLabel('Key', { exact: true }).fill('n');
  await page.keyboard.press('Enter');
  await page.getByText('Loading what changed').waitFor();
  assert.equal(await page.getByText('1 added, 1 removed').count(), 0);
  release();
  await page.getByText('0 added, 0 removed, 1 changed').waitFor();

  await page.goto(service.url);
  const pages = page.getByRole('navigation', { name: 'Pages of the list' });
  await pages.getByText('1 to 50 of 55').waitFor();
  const goOn = await holdAnswers(page, '**/v1/queries?*');
  await pages.getByRole('link', { name: 'Older' }).click();
  await page.waitForURL('**/?offset=50');
  assert.equal(await pages.locator('span').innerText(), '1 to 50 of 55');
  goOn();
  await pages.getByText('51 to 55 of 55').waitFor();
  assert.deepEqual(complaints, []);
});
