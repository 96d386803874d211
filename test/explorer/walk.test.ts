/** A walk through the explorer as a person would take it: key, list, rows, narrowing them down, runs, code. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { keepScreenshot, rowTexts, skip, startExplorer, until } from './browser.ts';

const CSV = ['chain,amount,at', ...Array.from({ length: 250 }, (_, n) => row(n))].join('\n');
const TYPES = { amount: 'uint256', at: 'timestamp(3)' };

function row(n: number): string {
  return `${n % 2 === 0 ? 'base' : 'optimism'},${1000 - n},2024-03-05 20:${String(n % 60).padStart(2, '0')}:00`;
}

/** The placeholders that are wider than their fields. */
const CUT_OFF = `[...document.querySelectorAll('.narrow-bar input')].filter((input) => {
  const context = document.createElement('canvas').getContext('2d');
  context.font = getComputedStyle(input, '::placeholder').font;
  const { paddingLeft: left, paddingRight: right } = getComputedStyle(input);
  const room = input.clientWidth - parseFloat(left) - parseFloat(right);
  return context.measureText(input.placeholder).width > room;
}).map(({ placeholder }) => placeholder)`;

const counts = (page: Page, text: string) => page.locator('.counts', { hasText: text }).waitFor();
const search = async (page: Page) =>
  decodeURIComponent((await page.evaluate('location.search')) as string).replaceAll('+', ' ');

test('a wrong key is refused, a right one opens; it is kept in this tab alone, and in no address', {
  skip,
}, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await service.publish(7, CSV, { types: TYPES });
  const page = await open('/', { key: '' });
  await page.getByLabel('API key').fill('qrs_wrong');
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByRole('alert').filter({ hasText: 'does not know this key' }).waitFor();
  await keepScreenshot(page, 'key');
  await page.getByLabel('API key').fill(service.key);
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Query 7' }).waitFor();
  await page.reload();
  await page.getByRole('link', { name: 'Query 7' }).waitFor();
  assert.equal(page.url(), `${service.url}/`);
  assert.equal(await page.evaluate('localStorage.length + document.cookie.length'), 0);
  await page.getByRole('button', { name: 'Leave' }).click();
  await page.getByLabel('API key').waitFor();
  assert.equal(await page.evaluate('sessionStorage.length'), 0);
  assert.deepEqual(complaints, []);
});

test('queries are found by words', { skip }, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  for (const [id, name] of [
    ['1', 'Prices of ETH'],
    ['2', 'Whales'],
  ] as const) {
    await service.commandLine.get('queries', 'add', '--id', id, '--user', 'ann', '--name', name);
  }
  const page = await open('/');
  await page.getByRole('link', { name: 'Whales' }).waitFor();
  await page.getByLabel('Search queries').fill('eth pri');
  await page.getByText('1 query', { exact: true }).waitFor();
  assert.equal(await search(page), '?search=eth pri');
  assert.equal(await page.getByRole('link', { name: 'Whales' }).count(), 0);
  await page.getByRole('link', { name: 'Prices of ETH' }).click();
  await page.getByRole('heading', { name: 'This query has never run' }).waitFor();
  assert.deepEqual(complaints, []);
});

test('a click on a header sorts, a click on a value filters, and both are texts that can be edited', {
  skip,
}, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await service.publish(7, CSV, { types: TYPES });
  const page = await open('/queries/7');
  assert.deepEqual(await rowTexts(page, 1), ['base', '1000', '2024-03-05 20:00:00.000']);
  await counts(page, '250 rows');
  const header = page.getByRole('columnheader', { name: 'amount' });
  await header.getByRole('button', { name: 'amount uint256' }).click();
  await page.locator('[role=columnheader][aria-sort=ascending]', { hasText: 'amount' }).waitFor();
  await page.locator('[id=cell-0-1]', { hasText: '751' }).waitFor();
  assert.equal(await page.getByLabel('Sort').inputValue(), 'amount');
  await header.getByRole('button', { name: 'amount uint256' }).click();
  await page.locator('[id=cell-0-1]', { hasText: '1000' }).waitFor();
  assert.equal(await search(page), '?sort_by=amount desc');
  await page.locator('[id=cell-1-0]').click();
  await page.getByRole('button', { name: 'Only this' }).click();
  await counts(page, '125 of 250 rows');
  assert.equal(await page.getByLabel('Filter', { exact: true }).inputValue(), "chain = 'optimism'");
  await page.locator('[id=cell-0-1]', { hasText: '999' }).click();
  await page.getByRole('button', { name: 'Up to this' }).click();
  assert.equal(await search(page), "?sort_by=amount desc&filters=chain = 'optimism' and amount <= 999");
  await page.getByLabel('Filter', { exact: true }).fill('amount < 753 or amount = 1000');
  await page.keyboard.press('Enter');
  await counts(page, '3 of 250 rows');
  await keepScreenshot(page, 'narrowed');
  // The address is the state: a reload shows the same, and Back undoes.
  await page.reload();
  await counts(page, '3 of 250 rows');
  await page.goBack();
  await counts(page, '125 of 250 rows');
  await page.getByRole('button', { name: 'Show all' }).click();
  await counts(page, '250 rows');
  assert.equal(await search(page), '');
  assert.deepEqual(complaints, []);
});

test('the examples of what to type are seen whole at 1,200 pixels', { skip }, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await service.publish(7, CSV, { types: TYPES });
  const viewport = { width: 1200, height: 660 };
  const page = await open('/queries/7?filters=amount > 0&sort_by=amount desc', { viewport });
  await counts(page, '250 of 250 rows');
  assert.deepEqual(await page.evaluate(CUT_OFF), []);
  assert.deepEqual(complaints, []);
});

test('a search finds rows in all columns, together with a filter, and stands in the address and in the code', {
  skip,
}, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await service.publish(7, CSV, { types: TYPES });
  const page = await open('/queries/7');
  await rowTexts(page, 1);
  await page.getByLabel('Search').fill('OPTI');
  await page.keyboard.press('Enter');
  await counts(page, '125 of 250 rows');
  assert.equal(await search(page), '?search=OPTI');
  assert.deepEqual((await rowTexts(page, 1)).slice(0, 2), ['optimism', '999']);
  await page.getByLabel('Filter', { exact: true }).fill('amount > 990');
  await page.keyboard.press('Enter');
  await counts(page, '5 of 250 rows');
  await keepScreenshot(page, 'searched');
  await page.getByLabel('Search').fill('20:03');
  await page.keyboard.press('Enter');
  await counts(page, '1 of 250 rows');
  assert.deepEqual(await rowTexts(page, 1), ['optimism', '997', '2024-03-05 20:03:00.000']);
  await page.getByLabel('Search').fill('100%');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'No row matches' }).waitFor();
  await page.getByRole('button', { name: 'Show all rows' }).click();
  await counts(page, '250 rows');
  await page.goBack();
  await page.getByRole('link', { name: 'As code' }).click();
  await page.locator('pre', { hasText: 'search=100%' }).waitFor();
  assert.deepEqual(complaints, []);
});

test('the rows of a query as of an earlier time; a time before all runs is told, with a way back', {
  skip,
}, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  const qrs = service.commandLine;
  await service.publish(7, 'n\n1\n');
  const first = new Date(qrs.now).toISOString().slice(0, 16);
  qrs.now += 3_600_000;
  await service.publish(7, 'n\n2\n');
  const page = await open('/queries/7');
  assert.deepEqual(await rowTexts(page, 1), ['2']);
  await page.getByRole('link', { name: 'Runs' }).click();
  const later = new Date(Date.parse(`${first}Z`) + 1_800_000).toISOString().slice(0, 16);
  await page.getByLabel('The latest run as of').fill(later);
  await page.getByRole('button', { name: 'Show its rows' }).click();
  await page.locator('[id=cell-0-0]', { hasText: '1' }).waitFor();
  assert.equal(await search(page), `?as_of=${later}:00Z`);
  await keepScreenshot(page, 'as-of');
  await page.getByRole('link', { name: 'As code' }).click();
  await page.locator('pre', { hasText: `as_of=${later}:00Z` }).waitFor();
  await page.getByRole('link', { name: 'To the latest run' }).click();
  await page.getByRole('link', { name: 'Rows' }).click();
  assert.deepEqual(await rowTexts(page, 1), ['2']);
  const before = await open('/queries/7?as_of=2020-01-01');
  await before.getByText('no run of query 7 that had ended by 2020-01-01').waitFor();
  await before.getByRole('link', { name: 'To the latest run' }).click();
  assert.deepEqual(await rowTexts(before, 1), ['2']);
  assert.deepEqual(complaints, []);
});

test('the difference of two runs, from the history: how much changed, by a key, narrowed down like any rows', {
  skip,
}, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  const before = await service.publish(7, 'id,price\n1,10\n2,20\n3,30\n');
  service.commandLine.now += 3_600_000;
  const after = await service.publish(7, 'id,price\n1,10\n2,25\n4,40\n');
  const page = await open('/queries/7?tab=runs');
  await page.getByRole('link', { name: `What changed since ${before.id}` }).click();
  await page.getByText('2 added, 2 removed, 0 changed, 1 row as before').waitFor();
  assert.equal(new URL(page.url()).pathname, `/executions/${after.id}`);
  assert.deepEqual(await rowTexts(page, 1), ['added', '2', '25']);
  await page.getByLabel('Key').fill('idd');
  await page.keyboard.press('Enter');
  await page.getByText('there is no column "idd". Did you mean "id"?').waitFor();
  await page.getByLabel('Key').fill('id');
  await page.keyboard.press('Enter');
  await page.getByText('1 added, 1 removed, 1 changed, 1 row as before').waitFor();
  assert.deepEqual(await rowTexts(page, 1), ['changed_from', '2', '20']);
  assert.deepEqual(await rowTexts(page, 2), ['changed_to', '2', '25']);
  await keepScreenshot(page, 'difference');
  await page.getByLabel('Filter', { exact: true }).fill("change = 'removed'");
  await page.keyboard.press('Enter');
  await counts(page, '1 of 4 rows');
  assert.deepEqual(await rowTexts(page, 1), ['removed', '3', '30']);
  await page.getByRole('link', { name: 'As code' }).click();
  await page.locator('pre', { hasText: `/v1/execution/${after.id}/diff/${before.id}` }).waitFor();
  await page.getByRole('link', { name: 'Rows' }).click();
  await page.getByRole('link', { name: 'Show the rows of this run' }).click();
  await page.getByRole('button', { name: 'Show all' }).click();
  assert.deepEqual(await rowTexts(page, 1), ['1', '10']);
  assert.deepEqual(complaints, []);
});

test('what columns mean is told at their names and in their list', { skip }, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await service.publish(7, CSV, { types: TYPES });
  await service.commandLine.get('queries', 'set', '7', '--describe', 'amount=In <b>wei</b>');
  const page = await open('/queries/7');
  await rowTexts(page, 1);
  await page.getByTitle('amount: In <b>wei</b>').waitFor();
  await page.getByRole('link', { name: 'Columns' }).click();
  await page.locator('.about', { hasText: 'In <b>wei</b>' }).waitFor();
  assert.deepEqual(complaints, []);
});

test("a mistake in an expression is told in the API's words, under a caret; the rows of before stay", {
  skip,
}, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await service.publish(7, CSV, { types: TYPES });
  const page = await open('/queries/7');
  await rowTexts(page, 1);
  await page.getByLabel('Filter', { exact: true }).fill("chain = 'base' and amuont > 5");
  await page.keyboard.press('Enter');
  const error = page.locator('#filters-error');
  await error
    .filter({ hasText: 'filters, position 20: there is no column "amuont". Did you mean "amount"?' })
    .waitFor();
  assert.equal(await page.locator('.expression-error pre').innerText(), `${' '.repeat(19)}^^^^^^`);
  assert.equal(await page.getByLabel('Filter', { exact: true }).getAttribute('aria-invalid'), 'true');
  await keepScreenshot(page, 'mistake');
  await page.getByLabel('Filter', { exact: true }).fill("chain = 'base' and amount > 5");
  await page.keyboard.press('Enter');
  await counts(page, '125 of 250 rows');
  assert.equal(await error.count(), 0);
  assert.deepEqual(complaints, []);
});

test('columns are hidden, moved and shown again, by the text of columns', { skip }, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await service.publish(7, CSV, { types: TYPES });
  const page = await open('/queries/7');
  await rowTexts(page, 1);
  const menu = async (column: string, item: string) => {
    await page.getByRole('columnheader', { name: column }).hover();
    await page.getByRole('button', { name: `Menu of ${column}` }).click();
    await page.getByRole('menuitem', { name: item, exact: true }).click();
  };
  await menu('at', 'Hide');
  assert.equal(await search(page), '?columns=chain,amount');
  await until(page, "document.querySelectorAll('[role=columnheader].name').length === 2");
  await menu('amount', 'Move left');
  await page.locator('[id=cell-0-0]', { hasText: '1000' }).waitFor();
  assert.deepEqual(await rowTexts(page, 1), ['1000', 'base']);
  await page.getByRole('link', { name: 'Columns' }).click();
  await page.getByLabel('Show at').check();
  await page.getByRole('link', { name: 'Rows' }).click();
  assert.deepEqual(await rowTexts(page, 1), ['1000', 'base', '2024-03-05 20:00:00.000']);
  assert.deepEqual(complaints, []);
});

test('runs, each with a page of its own; the code asks for exactly what is on the screen', { skip }, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  const { id } = await service.publish(7, CSV, { types: TYPES });
  service.commandLine.now += 60_000;
  const failed = await service.commandLine.get('executions', 'submit', '--query', '7');
  await service.commandLine.get('executions', 'fail', failed, '--type', 'engine', '--message', 'no such table: x');
  const page = await open('/queries/7?filters=amount > 998&sort_by=amount&columns=amount');
  await page.getByText('these are the rows of the run before').waitFor();
  await page.getByRole('link', { name: 'As code' }).click();
  const code = await page.locator('pre', { hasText: 'curl' }).innerText();
  const { stdout } = await promisify(execFile)('sh', ['-c', `${code} -s`], {
    env: { ...process.env, QRS_KEY: service.key },
  });
  assert.deepEqual(JSON.parse(stdout).result.rows, [{ amount: '999' }, { amount: '1000' }]);
  await page.getByRole('link', { name: 'Runs' }).click();
  await page.getByText('engine: no such table: x').waitFor();
  await keepScreenshot(page, 'runs');
  await page.getByRole('link', { name: failed }).click();
  await page.getByRole('heading', { name: 'This run failed' }).waitFor();
  await page.goBack();
  await page.getByRole('link', { name: id }).click();
  await rowTexts(page, 250 - 249);
  assert.equal(new URL(page.url()).pathname, `/executions/${id}`);
  await page.getByRole('link', { name: 'Usage' }).click();
  await page.getByRole('heading', { name: 'Usage' }).waitFor();
  assert.deepEqual(complaints, []);
});
