/** Three million rows under one scroll bar: bounded memory, every row reached, by mouse and by keyboard. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import type { Page } from 'playwright-core';
import type { HttpService } from '../feature/http-service.ts';
import { rowTexts, skip, startExplorer, until } from './browser.ts';

const ROWS = 3_000_000;
const HEAP_GROWTH_MAX = 40_000_000;

async function publishRows(service: HttpService): Promise<void> {
  const path = join(service.commandLine.directory, 'rows.parquet');
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(
    `COPY (SELECT range AS n, 'wallet ' || range AS w, range / 7 AS d, range % 2 = 0 AS e FROM range(${ROWS})) TO '${path}' (FORMAT parquet)`,
  );
  connection.closeSync();
  instance.closeSync();
  await service.publish(7, await readFile(path), { format: 'parquet' });
}

const heapBytes = async (page: Page) => {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize;
};

/** Scrolls by small steps for a while, one in each frame. @returns the milliseconds of each frame */
const scrollFrames = `new Promise((resolve) => {
  const grid = document.querySelector('[role=grid]');
  const frames = [];
  let last = performance.now();
  const step = (now) => {
    frames.push(now - last);
    last = now;
    if (frames.length === 240) return resolve(frames.slice(1));
    grid.scrollTop += 90;
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})`;

test('three million rows scroll smoothly in bounded memory, to the last', { skip }, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await publishRows(service);
  const page = await open('/queries/7');
  assert.deepEqual((await rowTexts(page, 1)).slice(0, 2), ['0', 'wallet 0']);
  const before = await heapBytes(page);
  const frames = (await page.evaluate(scrollFrames)) as number[];
  const sorted = frames.toSorted((a, b) => a - b);
  const of = (share: number) => (sorted[Math.floor(share * sorted.length)] ?? 0).toFixed(1);
  t.diagnostic(`frames: half within ${of(0.5)} ms, 95 % within ${of(0.95)} ms, all within ${of(0.999)} ms`);
  // Small steps move by just as many pixels: 239 of 90 are 768 rows of 28.
  await until(page, 'document.querySelector(\'[role=row][aria-rowindex="770"] [role=gridcell] bdi\')');
  assert.deepEqual((await rowTexts(page, 769)).slice(0, 2), ['768', 'wallet 768']);
  // Jumps to everywhere, the last to the end.
  for (const share of [0.1, 0.9, 0.3, 0.7, 0.5, 1]) {
    await page.evaluate(
      `{ const grid = document.querySelector('[role=grid]'); grid.scrollTop = ${share} * grid.scrollHeight; }`,
    );
    await until(
      page,
      `Math.abs(Number(document.querySelector('.row')?.getAttribute('aria-rowindex')) / ${ROWS} - ${share}) < 0.002 && document.querySelector('.row bdi')`,
    );
  }
  assert.deepEqual((await rowTexts(page, ROWS)).slice(0, 2), ['2999999', 'wallet 2999999']);
  assert.ok((await page.locator('.row').count()) < 60);
  const growth = (await heapBytes(page)) - before;
  t.diagnostic(`the heap grew by ${(growth / 1e6).toFixed(1)} MB`);
  assert.ok(growth < HEAP_GROWTH_MAX, `${growth} bytes`);
  assert.deepEqual(complaints, []);
});

test('by the keyboard alone: cells, pages, both ends, headers; and the address remembers the row', {
  skip,
}, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await publishRows(service);
  const page = await open('/queries/7');
  await rowTexts(page, 1);
  await page.getByRole('grid').focus();
  const active = async () => await page.getByRole('grid').getAttribute('aria-activedescendant');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowRight');
  assert.equal(await active(), 'cell-1-1');
  assert.equal(await page.locator('.cell-bar pre').innerText(), 'wallet 1');
  await page.keyboard.press('Control+End');
  assert.deepEqual((await rowTexts(page, ROWS)).slice(0, 1), ['2999999']);
  assert.equal(await active(), `cell-${ROWS - 1}-3`);
  await until(page, '/row=29999/.test(location.search)');
  await page.reload();
  assert.deepEqual((await rowTexts(page, ROWS)).slice(0, 1), ['2999999']);
  await page.getByRole('grid').focus();
  await page.keyboard.press('Control+Home');
  assert.deepEqual((await rowTexts(page, 1)).slice(0, 1), ['0']);
  await page.keyboard.press('PageDown');
  await page.keyboard.press('Control+Home');
  await page.keyboard.press('ArrowUp');
  assert.equal(await active(), 'cell--1-0');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  await page.locator('[id=cell-0-0]', { hasText: '2999999' }).waitFor();
  assert.deepEqual(complaints, []);
});

test('a cell whose row is still on its way is the chosen one when it arrives, and no other until then', {
  skip,
}, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await service.publish(7, `n\n${Array.from({ length: 1000 }, (_, n) => n).join('\n')}\n`);
  const page = await open('/queries/7');
  await rowTexts(page, 1);
  const { promise: until, resolve: answer } = Promise.withResolvers<void>();
  await page.route('**/results?offset=900&*', async (route) => {
    await until;
    await route.continue();
  });
  await page.getByRole('grid').focus();
  await page.keyboard.press('Control+End');
  await page.locator('.cell-bar', { hasText: 'row 1,000' }).waitFor();
  assert.equal(await page.locator('.cell-bar pre').innerText(), '…');
  assert.equal(await page.getByRole('button', { name: 'Only this' }).count(), 0);
  answer();
  await page.getByRole('button', { name: 'Only this' }).waitFor();
  assert.equal(await page.locator('.cell-bar pre').innerText(), '999');
  // The bar takes room, and the cell stays in sight.
  const [bar, cell] = [page.locator('.cell-bar'), page.locator('[id=cell-999-0]')];
  const [barTop = 0, cellTop = 0] = [(await bar.boundingBox())?.y, (await cell.boundingBox())?.y];
  assert.ok(cellTop > 0 && cellTop < barTop);
  assert.deepEqual(complaints, []);
});
