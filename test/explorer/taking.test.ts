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

test('a file that a proxy ended early, or whose result has expired, is not saved', { skip }, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await service.publish(7, '"a ""b""\n",n\n"x\ny",1\nz,2\n');
  const page = await open('/', { key: '' });
  await page.addInitScript(WITHOUT_PICKER);
  await page.goto(`${service.url}/queries/7#key=${service.key}`);
  await rowTexts(page, 1);
  const saved: string[] = [];
  page.on('download', (download) => saved.push(download.suggestedFilename()));
  await page.getByText('Download', { exact: true }).click();
  const fails = async (format: string) => {
    await page.getByRole('button', { name: format, exact: true }).click();
    await page.getByText('Failed: the answer ended before its end, or the result has expired').waitFor();
    // So that the next one is told anew.
    await page.reload();
    await rowTexts(page, 1);
    await page.getByText('Download', { exact: true }).click();
  };
  const cut = new Map([
    ['csv', ['text/csv', 'n,t\n1,"x\ny"\n']],
    ['ndjson', ['application/x-ndjson', '{"n":1,"t":"x\\ny"}\n']],
    ['json', ['application/json', '{"execution_id":"1","result":{"rows":[{"n":1,"t":"x"}']],
    ['parquet', ['application/vnd.apache.parquet', 'PAR1PAR']],
  ]);
  await page.route('**/results?*format=*', async (route) => {
    const [contentType = '', body = ''] =
      cut.get(new URL(route.request().url()).searchParams.get('format') ?? '') ?? [];
    await route.fulfill({ status: 200, headers: { 'x-service-row-count': '2' }, contentType, body });
  });
  for (const format of ['CSV', 'NDJSON', 'JSON', 'Parquet']) await fails(format);
  await page.unroute('**/results?*format=*');
  // JSON comes below: what the browser has had once it keeps.
  for (const format of ['CSV', 'NDJSON', 'Parquet']) await downloaded(page, format);
  assert.equal(saved.length, 3);
  service.commandLine.now += 91 * 86_400_000;
  await page.getByRole('button', { name: 'JSON', exact: true }).click();
  await page.getByText('or the result has expired').waitFor();
  assert.equal(saved.length, 3);
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
