/** What a key has used, as its holder sees it in the explorer: the numbers of `GET /v1/usage`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keepScreenshot, skip, startExplorer } from './browser.ts';

/** What the pages of this test ask for is not counted while it lasts. */
const NEVER = { QRS_USAGE_INTERVAL: '3600' };

test("the key's usage and its owner's, by day and by query", { skip }, async (t) => {
  const { service, open, complaints } = await startExplorer(t, NEVER);
  const { get } = service.commandLine;
  const first = await get('keys', 'list');
  await get('keys', 'create', '--user', 'ann');
  const second = (await get('keys', 'list')).split('\n').find((id) => id !== first) ?? assert.fail('one key');
  const catalog = await service.catalog();
  await catalog.usage.add([
    { day: '2024-03-04', keyId: first, queryId: 7, requests: 1200, datapoints: 9_000_000_000, bytes: 1_500_000 },
    { day: '2024-03-05', keyId: first, queryId: 7, requests: 30, datapoints: 400, bytes: 999 },
    { day: '2024-03-05', keyId: first, queryId: 8, requests: 1, datapoints: 50, bytes: 2000 },
    { day: '2024-03-05', keyId: first, requests: 2, datapoints: 0, bytes: 20 },
    { day: '2024-03-05', keyId: second, queryId: 8, requests: 5, datapoints: 7, bytes: 1_000_000 },
  ]);
  assert.deepEqual(await service.json('/v1/usage'), {
    from: '2024-02-05',
    to: '2024-03-05',
    key: { id: first, requests: 1233, datapoints: 9_000_000_450, bytes: 1_503_019 },
    owner: { user: 'ann', requests: 1238, datapoints: 9_000_000_457, bytes: 2_503_019 },
    days: [
      { day: '2024-03-04', requests: 1200, datapoints: 9_000_000_000, bytes: 1_500_000 },
      { day: '2024-03-05', requests: 33, datapoints: 450, bytes: 3019 },
    ],
    queries: [
      { requests: 2, datapoints: 0, bytes: 20 },
      { query_id: 7, requests: 1230, datapoints: 9_000_000_400, bytes: 1_500_999 },
      { query_id: 8, requests: 1, datapoints: 50, bytes: 2000 },
    ],
  });

  const page = await open('/usage');
  await page.getByText('From 2024-02-05 to 2024-03-05 (UTC).').waitFor();
  assert.deepEqual(await page.locator('.figures dt').allInnerTexts(), ['This key', 'All keys of ann']);
  assert.deepEqual(await page.locator('.figures dd').allInnerTexts(), [
    '9,000,000,450 datapoints in 1,233 requests, 1.5 MB',
    '9,000,000,457 datapoints in 1,238 requests, 2.5 MB',
  ]);
  const table = async (title: string) => {
    const rows = await page.locator('section', { hasText: title }).locator('tbody tr').all();
    return await Promise.all(rows.map(async (row) => await row.locator('th, td.number').allInnerTexts()));
  };
  assert.deepEqual(await table('By day'), [
    ['2024-03-04', '1,200', '9,000,000,000', '1.5 MB'],
    ['2024-03-05', '33', '450', '3.0 kB'],
  ]);
  assert.deepEqual(await table('By query'), [
    ['none', '2', '0', '20 B'],
    ['7', '1,230', '9,000,000,400', '1.5 MB'],
    ['8', '1', '50', '2.0 kB'],
  ]);
  await keepScreenshot(page, 'usage');
  await page.getByRole('link', { name: '7', exact: true }).click();
  await page.getByText('not found: Query not found or private').waitFor();
  assert.deepEqual(complaints, []);
});
