/** The curated datasets in the explorer: where they come from, how fresh they are, and what is said when a refresh fails. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { writeDemoSources } from '../../src/datasets/demo-sources/write-demo-sources.ts';
import { sleep } from '../real-time.ts';
import { keepScreenshot, rowTexts, skip, startExplorer } from './browser.ts';

const at = (time: string) => Date.parse(`2024-03-05T${time}Z`);

test('how fresh a dataset is: in the list and on its page, also when its last refresh failed', { skip }, async (t) => {
  const sources = await mkdtemp(join(tmpdir(), 'qrs-sources-'));
  t.after(async () => await rm(sources, { recursive: true, force: true }));
  const size = { operators: 8, avss: 3, stakers: 40, wallets: 20 };
  await writeDemoSources(sources, { size, until: at('00:00:00'), signal: t.signal, sleep });
  const { service, open, complaints } = await startExplorer(t, { QRS_SOURCES_DIR: sources });
  const { commandLine: qrs } = service;
  qrs.now = at('10:07:00');
  await qrs.get('datasets', 'refresh', 'operator-stats');

  const page = await open('/', { now: at('10:15:00') });
  const listed = page.getByRole('row').filter({ hasText: '990000002' });
  await listed.getByText('dataset', { exact: true }).waitFor();
  assert.deepEqual(await refreshed(listed.locator('td').nth(2)), ['2024-03-05T10:07:00.000000Z', '8 minutes ago']);
  await listed.getByRole('link').first().click();
  await page.getByText('refreshed by */15 * * * * (UTC)').waitFor();
  await page.getByTitle('The dataset’s address: /v1/restaking/operator-stats').waitFor();
  assert.deepEqual(await refreshed(page.locator('.facts')), ['2024-03-05T10:07:00.000000Z', '8 minutes ago']);
  const answer = await service.get('/v1/restaking/operator-stats?limit=1');
  assert.equal(answer.headers.get('last-modified'), 'Tue, 05 Mar 2024 10:07:00 GMT');
  const before = await rowTexts(page, 1);
  await keepScreenshot(page, 'dataset');

  qrs.now = at('10:15:00');
  await qrs.get('datasets', 'refresh', 'operator-stats');
  const later = await open('/queries/990000002', { now: at('10:15:30') });
  assert.deepEqual(await refreshed(later.locator('.facts')), ['2024-03-05T10:15:00.000000Z', '30 seconds ago']);

  await rm(join(sources, 'restaking/strategy_exchange_rate.parquet'));
  qrs.now = at('10:30:00');
  await qrs.run(['datasets', 'refresh', 'operator-stats']);
  const latest = await open('/queries/990000002', { now: at('10:31:00') });
  const newer = latest.getByRole('status').filter({ hasText: 'these are the rows of the run before' });
  await newer.getByText('failed').waitFor();
  assert.deepEqual(await refreshed(newer), ['2024-03-05T10:30:00.000000Z', '1 minute ago']);
  assert.deepEqual(await refreshed(latest.locator('.facts')), ['2024-03-05T10:15:00.000000Z', '16 minutes ago']);
  assert.deepEqual(await rowTexts(latest, 1), before);
  assert.deepEqual(complaints, []);
});

/** The time in the first `<time>` of a place, and what a person reads there. */
async function refreshed(place: ReturnType<Page['locator']>): Promise<readonly (string | null)[]> {
  const time = place.locator('time').first();
  return [await time.getAttribute('datetime'), await time.innerText()];
}
