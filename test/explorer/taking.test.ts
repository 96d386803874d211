/** Taking away what is on the screen, with what it costs said before; and columns made wider, by the menu and by the edge. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { readParquet } from '../feature/parquet-reader.ts';
import { rowTexts, skip, startExplorer, until } from './browser.ts';

const CSV = 'chain,amount\nbase,1\neth,22\nbase,333\n';

/** As in browsers where no page may write a file: where Chromium's pages may, it asks its visitor for a place, which no test can answer. */
const WITHOUT_PICKER = 'delete window.showSaveFilePicker';

async function downloaded(page: Page, format: string): Promise<Buffer> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: format, exact: true }).click(),
  ]);
  return await readFile(await download.path());
}

test('a download says its price first, and has exactly the rows on the screen, in each format', { skip }, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await service.publish(7, CSV, { types: { amount: 'uint256' } });
  const page = await open('/', { key: '' });
  await page.addInitScript(WITHOUT_PICKER);
  await page.goto(`${service.url}/queries/7?filters=chain = 'base'&sort_by=amount desc#key=${service.key}`);
  assert.deepEqual(await rowTexts(page, 1), ['base', '333']);
  await page.getByText('Download', { exact: true }).click();
  await page.getByText('2 rows').first().waitFor();
  assert.equal(String(await downloaded(page, 'CSV')), 'chain,amount\nbase,333\nbase,1\n');
  await page.getByText('Saved').waitFor();
  const lines = '{"chain":"base","amount":"333"}\n{"chain":"base","amount":"1"}\n';
  assert.equal(String(await downloaded(page, 'NDJSON')), lines);
  const { result } = JSON.parse(String(await downloaded(page, 'JSON')));
  assert.deepEqual(result.rows, [
    { chain: 'base', amount: '333' },
    { chain: 'base', amount: '1' },
  ]);
  const { rows } = await readParquet(await downloaded(page, 'Parquet'));
  assert.deepEqual(rows, [
    ['base', '333'],
    ['base', '1'],
  ]);
  assert.deepEqual(complaints, []);
});

test('a column is made wider by its menu and by its edge', { skip }, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await service.publish(7, CSV);
  const page = await open('/queries/7');
  await rowTexts(page, 1);
  const header = page.getByRole('columnheader', { name: 'chain' });
  const width = async () => (await header.boundingBox())?.width ?? 0;
  const before = await width();
  await header.hover();
  await page.getByRole('button', { name: 'Menu of chain' }).click();
  await page.getByRole('menuitem', { name: 'Wider' }).click();
  assert.equal(await width(), before + 80);
  const edge = await header.locator('.pull').boundingBox();
  assert.ok(edge !== null);
  await page.mouse.move(edge.x + edge.width / 2, edge.y + edge.height / 2);
  await page.mouse.down();
  await page.mouse.move(edge.x + edge.width / 2 + 60, edge.y + edge.height / 2, { steps: 3 });
  await page.mouse.up();
  await until(page, `document.querySelector('[id="cell--1-0"]').getBoundingClientRect().width === ${before + 140}`);
  assert.deepEqual(complaints, []);
});
