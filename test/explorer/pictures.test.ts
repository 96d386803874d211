/** Columns in numbers, with histograms that filter; and charts, which say of how many rows they are. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Digits } from '../../web/api/exact-json.ts';
import { chooseChart } from '../../web/charts/choose-chart.ts';
import { drawnOf } from '../../web/charts/points.ts';
import { binsCondition } from '../../web/columns/bins-condition.ts';
import { keepScreenshot, skip, startExplorer, until } from './browser.ts';

const CSV = ['chain,amount,at', ...Array.from({ length: 9000 }, (_, n) => row(n))].join('\n');

function row(n: number): string {
  return `${n % 3 === 0 ? 'base' : 'optimism'},${n},2024-03-05 20:${String(n % 60).padStart(2, '0')}:00`;
}

test('a pull over a histogram filters by its range, a click on a frequent value by that', { skip }, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await service.publish(7, CSV, { types: { amount: 'uint256', at: 'timestamp(3)' } });
  const page = await open('/queries/7?tab=columns');
  const histogram = page.getByRole('img', { name: 'Histogram of amount, from 0 to 8999' });
  await histogram.waitFor();
  await page.getByText('mean 4499.5').waitFor();
  await keepScreenshot(page, 'columns-in-numbers');
  const box = (await histogram.boundingBox()) ?? assert.fail('no histogram');
  await page.mouse.move(box.x + box.width * 0.26, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.4, box.y + 20);
  await page.mouse.move(box.x + box.width * 0.49, box.y + 20);
  await page.mouse.up();
  // The sixth bin to the tenth, of 449.95 each.
  await page.locator('.counts', { hasText: '2,250 of 9,000 rows' }).waitFor();
  assert.equal(await page.getByLabel('Filter', { exact: true }).inputValue(), 'amount >= 2250 and amount < 4500');
  await page.getByRole('link', { name: 'Columns' }).click();
  await page.getByRole('button', { name: 'base', exact: true }).click();
  await page.locator('.counts', { hasText: '750 of 9,000 rows' }).waitFor();
  assert.deepEqual(complaints, []);
});

test('a chart is chosen by the types of the columns, and says when it is of a sample', { skip }, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  await service.publish(7, CSV, { types: { amount: 'uint256', at: 'timestamp(3)' } });
  const page = await open('/queries/7');
  await page.getByRole('link', { name: 'Chart' }).click();
  await page.getByRole('img', { name: 'line chart of amount by at' }).waitFor();
  await page.getByText('A random sample of 8,000 of 9,000 rows, the same each time.').waitFor();
  await keepScreenshot(page, 'chart-of-a-sample');
  await page.getByLabel('Across').selectOption('chain');
  await page.getByLabel('Chart').selectOption('bar');
  await page.getByLabel('Up').selectOption('number of rows');
  await page.getByRole('img', { name: 'bar chart of rows by chain' }).waitFor();
  await page.goto(`${service.url}/queries/7?tab=chart&chart=bar&x=chain&y=*&filters=amount < 90`);
  await page.getByText('All 90 rows. Bars are numbers of rows, the 2 highest.').waitFor();
  await until(
    page,
    "[...document.querySelectorAll('.named text')].map((text) => text.textContent).join() === 'optimism,60,base,30'",
  );
  // Under a filter or a search no sample can be drawn.
  for (const narrowed of ['filters=amount >= 0', 'search=20:']) {
    await page.goto(`${service.url}/queries/7?tab=chart&chart=scatter&x=amount&y=amount&${narrowed}`);
    await page.getByText('Only the first 8,000 of 9,000 rows that match: the others are not drawn.').waitFor();
  }
  for (const kind of ['area', 'scatter', 'histogram']) {
    await page.goto(`${service.url}/queries/7?tab=chart&chart=${kind}&x=amount&y=amount&filters=amount < 90`);
    await page.getByRole('img', { name: `${kind} chart` }).waitFor();
  }
  assert.deepEqual(complaints, []);
});

test('values from one end of what a double holds to the other are drawn, with short labels', { skip }, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  const csv = 'name,x,y\na,-1.7e308,1.7e308\nb,0.5e308,-1.7e308\nc,1.7e308,0\n';
  await service.publish(7, csv, { types: { x: 'double', y: 'double' } });
  const page = await open('/queries/7');
  for (const kind of ['line', 'area', 'scatter', 'histogram', 'bar']) {
    await page.goto(`${service.url}/queries/7?tab=chart&chart=${kind}&x=${kind === 'bar' ? 'name' : 'x'}&y=y`);
    const picture = page.getByRole('img', { name: `${kind} chart` });
    assert.doesNotMatch(await picture.innerHTML(), /NaN|Infinity/);
    const labels = await picture.locator('text').allTextContents();
    assert.ok(labels.length > 3 && labels.every((label) => label.length < 10), labels.join());
  }
  assert.deepEqual(complaints, []);
});

test('which chart of which columns, where nobody has chosen', () => {
  const columns = (types: string) => types.split(' ').map((type, index) => ({ name: `${type}${index}`, type }));
  const chosen = (types: string, wished = {}) => {
    const { kind, x, y } = chooseChart(columns(types), { kind: '', x: '', y: '', ...wished });
    return [kind, x, y];
  };
  assert.deepEqual(chosen('varchar double date'), ['line', 'date2', 'double1']);
  assert.deepEqual(chosen('varchar double bigint'), ['scatter', 'double1', 'bigint2']);
  assert.deepEqual(chosen('varchar double'), ['bar', 'varchar0', 'double1']);
  assert.deepEqual(chosen('uint256'), ['histogram', 'uint2560', '']);
  assert.deepEqual(chosen('varchar'), ['bar', 'varchar0', '']);
  assert.deepEqual(chosen('varchar double', { y: '*', kind: 'pie' }), ['bar', 'varchar0', '']);
});

test('bins become conditions without rounding what is whole, and bars means', () => {
  const edge = (text: string) => new Digits(text);
  const bins = [
    { from: edge('1e76'), to: edge('2e76'), count: edge('1') },
    { from: edge('2e76'), to: edge('3e76'), count: edge('1') },
  ];
  assert.equal(binsCondition('a b', 'uint256', bins, 0, 0), `"a b" < ${BigInt(2e76)}`);
  assert.equal(binsCondition('a', 'uint256', bins, 1, 1), `a >= ${BigInt(2e76)}`);
  assert.equal(binsCondition('a', 'uint256', bins, 0, 1), 'a is not null');
  const days = [
    { from: '2024-03-05', to: '2024-03-06', count: edge('1') },
    { from: '2024-03-06', to: '2024-03-07', count: edge('1') },
  ];
  assert.equal(binsCondition('d', 'date', days, 0, 0), "d < '2024-03-06'");
  assert.equal(binsCondition('d', 'date', days, 1, 1), "d >= '2024-03-06'");
  // Doubles beyond the bins are NaN and the infinities; tiny ones keep every digit.
  const tiny = [
    { from: edge('1.2345678901234567e-7'), to: edge('2e-7'), count: edge('1') },
    { from: edge('2e-7'), to: edge('3e-7'), count: edge('1') },
  ];
  assert.equal(binsCondition('x', 'double', tiny, 0, 0), 'x >= 1.2345678901234567e-7 and x < 2e-7');
  assert.equal(binsCondition('x', 'double', tiny, 1, 1), 'x >= 2e-7 and x <= 3e-7');
  const columns = [
    { name: 'chain', type: 'varchar' },
    { name: 'n', type: 'bigint' },
  ];
  const rows = [
    ['a', edge('1')],
    ['b', '9007199254740993'],
    ['a', edge('3')],
    ['a', null],
  ];
  const drawn = drawnOf({ kind: 'bar', x: 'chain', y: 'n' }, columns, rows);
  assert.deepEqual(drawn.kind === 'bars' && drawn.bars.map(({ label, y }) => [label, y]), [
    ['b', 9007199254740992],
    ['a', 2],
  ]);
});

test('times of day have their places on an axis', () => {
  const columns = [
    { name: 'at', type: 'time' },
    { name: 'n', type: 'integer' },
  ];
  const rows = [
    ['10:00:00.500000', new Digits('1')],
    ['00:01:00', new Digits('2')],
  ];
  const drawn = drawnOf({ kind: 'line', x: 'at', y: 'n' }, columns, rows);
  assert.deepEqual(drawn.kind === 'points' && drawn.points, [
    { x: 60_000, y: 2 },
    { x: 36_000_500, y: 1 },
  ]);
});
