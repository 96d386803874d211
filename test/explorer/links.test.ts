/** The address holds what is seen: a link, the buttons of the browser and a key pasted behind it lead to what they say. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { skip, startExplorer, until } from './browser.ts';

const CSV = `n,chain\n${Array.from({ length: 1000 }, (_, n) => `${n},${n % 2 === 0 ? 'base' : 'celo'}\n`).join('')}`;

/** Waits until the first row that is seen whole below the headers has this value in its first column. */
async function seesFirst(page: Page, value: string): Promise<void> {
  const head = "document.querySelector('[role=grid] .head')?.getBoundingClientRect().bottom";
  const seen = `[...document.querySelectorAll('.row')].find((row) => row.getBoundingClientRect().top >= ${head} - 1)`;
  await until(page, `${seen}?.querySelector('bdi')?.textContent === '${value}'`);
}

test('a link to a row that the latest run has no more shows its last rows', { skip }, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await service.publish(7, CSV);
  const page = await open('/queries/7?row=5000');
  await until(page, '/[?&]row=9[0-9][0-9]$/.test(location.search)');
  const last = page.locator('[role=row][aria-rowindex="1001"] [role=gridcell] bdi').first();
  const grid = await page.getByRole('grid').boundingBox();
  const box = await last.boundingBox();
  assert.equal(await last.innerText(), '999');
  assert.ok(grid !== null && box !== null && box.y > grid.y && box.y < grid.y + grid.height);
  assert.deepEqual(complaints, []);
});

test('another order is shown from its first row, and Back leads to the row where one was', { skip }, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await service.publish(7, CSV);
  const page = await open('/queries/7?row=601');
  await seesFirst(page, '600');
  await page.locator('[id="cell--1-0"] .sort').click();
  await seesFirst(page, '0');
  await page.locator('[id="cell--1-0"] .sort').click();
  await seesFirst(page, '999');
  assert.equal(await page.evaluate('location.search'), '?sort_by=n+desc');
  await page.goBack();
  await seesFirst(page, '0');
  await page.goBack();
  await seesFirst(page, '600');
  assert.equal(await page.evaluate('location.search'), '?row=601');
  assert.deepEqual(complaints, []);
});

test('a key behind the address of the page that is open is taken, and taken out of the address', {
  skip,
}, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await service.publish(7, CSV);
  const page = await open('/', { key: '' });
  await page.getByLabel('API key').waitFor();
  // The browser does not load the page again for what stands behind the #.
  await page.goto(`${service.url}/#key=${service.key}`);
  await page.getByRole('link', { name: 'Query 7' }).waitFor();
  assert.equal(page.url(), `${service.url}/`);
  assert.deepEqual(complaints, []);
});

test('a link to a page that the list of queries has no more says so, and leads to its first', { skip }, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await service.publish(7, CSV);
  const page = await open('/?search=7&offset=50');
  await page.getByRole('heading', { name: 'There is no such page: 1 query in all' }).waitFor();
  await page.getByRole('link', { name: 'To the first page' }).click();
  await page.getByRole('link', { name: 'Query 7' }).waitFor();
  assert.equal(page.url(), `${service.url}/?search=7`);
  assert.deepEqual(complaints, []);
});
