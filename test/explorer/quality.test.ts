/** What every page owes its visitors: it is usable by everybody, in the dark and on a phone, and it is there at once. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { keepScreenshot, rowTexts, skip, startExplorer } from './browser.ts';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const FIRST_SIGHT_BYTES_MAX = 100_000;
const FIRST_ROWS_REQUESTS_MAX = 8;
const PHONE = { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true };

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

async function violations(page: Page): Promise<readonly string[]> {
  // In a world of its own: the page's policy lets it load no script of ours.
  const session = await page.context().newCDPSession(page);
  await session.send('Page.setBypassCSP', { enabled: true });
  await page.evaluate(await readFile(AXE, 'utf8'));
  const found = (await page.evaluate('axe.run()')) as { readonly violations: readonly Violation[] };
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)}: ${failureSummary}`),
  );
}

// A test each, since a busy machine takes half a minute and more for one of them.
for (const [scheme, options] of [
  ['in light', { colorScheme: 'light' }],
  ['in dark', { colorScheme: 'dark' }],
  ['on a phone', PHONE],
] as const) {
  test(`axe finds nothing on any page, ${scheme}`, { skip }, async (t) => {
    const { service, open } = await startExplorer(t);
    const rows = Array.from(
      { length: 300 },
      (_, n) => `0xd8da6bf26964af9d7eed9e03e53415d37aa96045,${n},${n % 3 === 0 ? '' : 'x'}`,
    );
    const csv = `wallet,amount,note\n${rows.join('\n')}\n`;
    const types = { amount: 'uint256' };
    const { id: first } = await service.publish(7, csv.replace(/\n.*\n$/, '\n'), { types });
    service.commandLine.now += 1000;
    const { id: second } = await service.publish(7, csv, { types });
    await service.commandLine.get(
      'queries',
      'set',
      '7',
      '--name',
      'Whales',
      '--tag',
      'dex',
      '--description',
      'Who holds most.',
    );
    const failed = await service.commandLine.get('executions', 'submit', '--query', '7');
    await service.commandLine.get('executions', 'fail', failed, '--message', 'no such table');
    const pages = [
      ['list', '/', 'Whales'],
      ['rows', '/queries/7?sort_by=amount desc', '299'],
      ['mistake', '/queries/7?filters=amuont > 1', 'Did you mean'],
      ['columns', '/queries/7?tab=columns', 'mean 149.50'],
      ['chart', '/queries/7?tab=chart', 'All 300 rows'],
      ['runs', '/queries/7?tab=runs', 'no such table'],
      ['difference', `/executions/${second}?since=${first}&key=amount`, '1 added'],
      ['code', '/queries/7?tab=code&language=Python', 'raise_for_status'],
      ['failed', `/executions/${failed}`, 'This run failed'],
      ['refused', '/queries/8', 'not found'],
      ['usage', '/usage', 'they are counted every few seconds'],
    ] as const;
    const found: string[] = [];
    const page = await open('/', { key: '', ...options });
    await page.getByLabel('API key').waitFor();
    found.push(...(await violations(page)).map((text) => `key: ${text}`));
    await page.getByLabel('API key').fill(service.key);
    await page.keyboard.press('Enter');
    for (const [name, path, text] of pages) {
      await page.goto(service.url + path);
      await page.getByText(text).first().waitFor();
      if (name === 'rows') await page.locator('[id=cell-1-1]').click();
      found.push(...(await violations(page)).map((said) => `${name}: ${said}`));
      await keepScreenshot(page, `${name}-${scheme.split(' ').at(-1)}`);
      const over = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
      assert.equal(over, 0, `${name} scrolls sideways`);
    }
    assert.deepEqual(found, []);
  });
}

test('on the narrowest of phones no page scrolls sideways', { skip }, async (t) => {
  // What the pages themselves ask for is not counted while it lasts.
  const { service, open, complaints } = await startExplorer(t, { QRS_USAGE_INTERVAL: '3600' });
  const keyId = await service.commandLine.get('keys', 'list');
  const catalog = await service.catalog();
  const much = { requests: 12_345_678, datapoints: 9_000_000_000_000, bytes: 999_000_000_000 };
  await catalog.usage.add([{ day: '2024-03-05', keyId, queryId: 990_000_001, ...much }]);
  const { id: first } = await service.publish(7, 'chain,amount\nbase,1\n');
  service.commandLine.now += 1000;
  await service.publish(7, 'chain,amount\nbase,2\n');
  const page = await open('/', { viewport: { width: 320, height: 568 }, hasTouch: true });
  const over: string[] = [];
  for (const [path, text] of [
    ['/', 'Query 7'],
    ['/queries/7', 'base'],
    ['/queries/7?tab=columns', 'Most frequent'],
    ['/queries/7?tab=chart', 'All 1 row'],
    ['/queries/7?tab=runs', 'The latest run as of'],
    [`/queries/7?since=${first}`, '1 added'],
    ['/queries/7?tab=code', 'QRS_KEY'],
    ['/usage', '999 GB'],
  ] as const) {
    await page.goto(service.url + path);
    await page.getByText(text).first().waitFor();
    const width = await page.evaluate('document.documentElement.scrollWidth');
    if (width !== 320) over.push(`${path}: ${width}`);
  }
  assert.deepEqual(over, []);
  assert.deepEqual(complaints, []);
});

test('a page has its heading while what it shows is on its way, and where that is refused', { skip }, async (t) => {
  const { service, open } = await startExplorer(t);
  const page = await open('/');
  const places = [
    ['/', 'Queries', 'queries'],
    ['/queries/8', 'Query 8', 'the query'],
    ['/executions/x', 'Run x', 'the query'],
    ['/usage', 'Usage', 'usage'],
  ] as const;
  for (const [path, heading, what] of places) {
    const { promise: until, resolve: answer } = Promise.withResolvers<void>();
    await page.route('**/v1/**', async (route) => {
      await until;
      await route.fulfill({ status: 503, json: { error: 'Not at present.' } });
    });
    await page.goto(service.url + path);
    await page.getByText(`Loading ${what} …`).waitFor();
    assert.deepEqual(await page.locator('h1').allInnerTexts(), [heading]);
    answer();
    await page.getByText('Not at present.').waitFor();
    assert.deepEqual(await page.locator('h1').allInnerTexts(), [heading]);
    await page.unroute('**/v1/**');
  }
});

test('the budget: bytes and requests of the first sight, time to the first row', { skip }, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await service.publish(7, `n\n${Array.from({ length: 3000 }, (_, n) => n).join('\n')}\n`);
  const page = await open('/queries/7');
  await rowTexts(page, 1);
  const loaded = (await page.evaluate(
    "performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation')).map(({ name, encodedBodySize }) => [name, encodedBodySize])",
  )) as [string, number][];
  const own = loaded.filter(([name]) => !name.includes('/v1/'));
  const bytes = own.reduce((sum, [, size]) => sum + size, 0);
  const millis = (await page.evaluate('performance.now()')) as number;
  t.diagnostic(
    `${bytes} bytes for the page, ${loaded.length} requests in all, the first row within ${Math.round(millis)} ms`,
  );
  assert.ok(bytes < FIRST_SIGHT_BYTES_MAX, JSON.stringify(own));
  assert.ok(loaded.length <= FIRST_ROWS_REQUESTS_MAX, JSON.stringify(loaded));
  assert.deepEqual(complaints, []);
});

test('without a script the page says what this is and where to go on', { skip }, async (t) => {
  const { open } = await startExplorer(t);
  const page = await open('/', { key: '', javaScriptEnabled: false });
  await page.getByRole('link', { name: 'Try requests' }).waitFor();
  assert.match(await page.locator('body').innerText(), /qrs keys create/);
});
