/** A browser that is busy draws late. What its visitor does before it has drawn stands all the same. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { rowTexts, skip, startExplorer, until } from './browser.ts';

const CSV = ['chain,amount', ...Array.from({ length: 250 }, (_, n) => `${n % 2 === 0 ? 'base' : 'eth'},${n}`)].join(
  '\n',
);

/** Keeps what a page would do after it has drawn, from `hold()` until `release()`. */
const HELD = `{
  const kept = [];
  let isHeld = false;
  for (const name of ['requestAnimationFrame', 'setTimeout']) {
    const real = window[name].bind(window);
    window[name] = (task, ...more) => (isHeld ? kept.push(() => real(task, ...more)) : real(task, ...more));
  }
  window.hold = () => void (isHeld = true);
  window.release = () => {
    isHeld = false;
    for (const go of kept.splice(0)) go();
  };
}`;

/** What the service answers is held, too: it may be quicker than the test looks. */
async function whileHeld(page: Page, act: () => Promise<void>): Promise<void> {
  const { promise: until, resolve: answer } = Promise.withResolvers<void>();
  await page.route('**/v1/**', async (route) => {
    await until;
    // The page may not want it any more.
    await route.continue().catch(() => undefined);
  });
  await page.evaluate('hold()');
  await act();
  await page.evaluate('release()');
  answer();
}

test('what is typed right after a click on a value stays typed, and no count of another view is seen', {
  skip,
}, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await service.publish(7, CSV, { types: { amount: 'uint256' } });
  const page = await open('/', { key: '' });
  await page.addInitScript(HELD);
  await page.goto(`${service.url}/queries/7?filters=amount >= 50#key=${service.key}`);
  await page.locator('.counts', { hasText: '200 of 250 rows' }).waitFor();
  assert.deepEqual(await rowTexts(page, 1), ['base', '50']);
  await page.locator('[id=cell-0-0]').click();
  await whileHeld(page, async () => {
    await page.getByRole('button', { name: 'Only this' }).click();
    assert.match(await page.locator('.counts').innerText(), /^counting … of 250 rows/);
    assert.equal(await page.locator('.cell-bar').count(), 0);
    await page.getByLabel('Filter', { exact: true }).fill('amount >= 240');
  });
  await page.keyboard.press('Enter');
  await page.locator('.counts', { hasText: '10 of 250 rows' }).waitFor();
  assert.deepEqual(await rowTexts(page, 1), ['base', '240']);
  assert.deepEqual(complaints, []);
});

/** Keeps what the table does once it rests, until the test calls `rest()`. */
const RESTED = `{
  const real = window.setTimeout.bind(window);
  window.setTimeout = (task, millis, ...more) => (millis === 200 ? void (window.rest = task) : real(task, millis, ...more));
}`;

test('what is scrolled in the moment in which the table takes itself to rest is not taken back', {
  skip,
}, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await service.publish(7, CSV);
  const page = await open('/', { key: '' });
  await page.addInitScript(RESTED);
  await page.goto(`${service.url}/queries/7#key=${service.key}`);
  await rowTexts(page, 1);
  const scroll = "document.querySelector('[role=grid]').scrollTop";
  await page.evaluate(`window.rest = undefined; ${scroll} = 280`);
  await until(page, 'window.rest !== undefined');
  // No frame has passed, so the page has not been told yet that it was scrolled.
  await page.evaluate(`${scroll} += 2800; rest()`);
  assert.equal(await page.evaluate(scroll), 3080);
  assert.equal((await rowTexts(page, 115))[1], '114');
  assert.deepEqual(complaints, []);
});
