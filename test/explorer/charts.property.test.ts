/** What a chart draws of rows, without a browser: every row that has a place, and none taken for another. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Digits, type ExactJson } from '../../web/api/exact-json.ts';
import { type Chart, chooseChart } from '../../web/charts/choose-chart.ts';
import { drawnOf, place } from '../../web/charts/points.ts';
import { numberLabel, placeAmong, ticks } from '../../web/charts/ticks.ts';

const number = (text: string) => new Digits(text);

function barsOf(chart: Chart, type: string, values: readonly ExactJson[]) {
  const drawn = drawnOf(
    chart,
    [{ name: 'x', type }],
    values.map((value) => [value]),
  );
  return drawn.kind === 'bars' ? drawn.bars : assert.fail('points');
}

/** The labels and heights of bars of names, each the mean of its values. */
function named(names: readonly string[], values: readonly string[]) {
  const columns = [
    { name: 'x', type: 'varchar' },
    { name: 'y', type: 'double' },
  ];
  const rows = names.map((name, index) => [name, number(values[index] ?? '')]);
  const drawn = drawnOf({ kind: 'bar', x: 'x', y: 'y' }, columns, rows);
  return drawn.kind === 'bars' ? drawn.bars.map(({ label, y }) => [label, y]) : assert.fail('points');
}

test('bars of names: different values have bars of their own, however alike they look', () => {
  const chart: Chart = { kind: 'bar', x: 'x', y: '' };
  const address = (middle: string) => `0x000000${middle.repeat(28)}00dead`;
  const long = 'a'.repeat(240);
  const values = [null, 'null', address('1'), address('2'), `${long}b`, `${long}c`, 'a\nb', 'a ⏎ b', '', ''];
  const heights = barsOf(chart, 'varchar', values).map(({ y }) => y);
  assert.deepEqual(heights, [2, 1, 1, 1, 1, 1, 1, 1, 1]);
});

test('a histogram has each finite value once, in bars that have edges', () => {
  const chart: Chart = { kind: 'histogram', x: 'x', y: '' };
  const value = fc.oneof(
    fc.double({ noNaN: true }),
    fc.constantFrom(Number.POSITIVE_INFINITY, 0, 5e-324, Number.MAX_VALUE, -Number.MAX_VALUE),
  );
  fc.assert(
    fc.property(fc.array(value), (values) => {
      const finite = values.filter(Number.isFinite);
      const bars = barsOf(
        chart,
        'double',
        values.map((one) => (Number.isFinite(one) ? number(String(one)) : String(one))),
      );
      assert.equal(
        bars.reduce((sum, { y }) => sum + y, 0),
        finite.length,
      );
      for (const { from, to } of bars) assert.ok(Number.isFinite(from) && Number.isFinite(to), `${from} to ${to}`);
      assert.equal(bars.length, finite.length === 0 ? 0 : 40);
    }),
  );
});

test('a range that is wider than a double can hold has its values in the right bars, and ticks', () => {
  const chart: Chart = { kind: 'histogram', x: 'x', y: '' };
  const values = ['-1.7e308', '-0.1e308', '0.1e308', '0.5e308', '1.7e308'].map(number);
  const bars = barsOf(chart, 'double', values);
  // 8.5e306 wide each.
  const filled = bars.flatMap(({ y }, bin) => (y > 0 ? [[bin, y]] : []));
  assert.deepEqual(filled, [
    [0, 1],
    [18, 1],
    [21, 1],
    [25, 1],
    [39, 1],
  ]);
  assert.deepEqual([bars[0]?.from, bars[39]?.to], [-1.7e308, 1.7e308]);
  assert.deepEqual(ticks(-1.7e308, 1.7e308, 8), [-1.5e308, -1e308, -5e307, 0, 5e307, 1e308, 1.5e308]);
  const means = named(['a', 'a', 'b', 'b', 'c'], ['1.7e308', '1.5e308', '-1.7e308', '1.7e308', '-1.7e308']);
  assert.deepEqual(means, [
    ['a', 1.6e308],
    ['b', 0],
    ['c', -1.7e308],
  ]);
});

test('the place of a value on an axis, whatever lies between its ends', () => {
  const places = (low: number, high: number, values: readonly number[]) =>
    values.map((one) => placeAmong({ low, high }, one));
  assert.deepEqual(places(0, 4, [0, 1, 4]), [0, 0.25, 1]);
  assert.deepEqual(places(7, 7, [7]), [0]);
  assert.deepEqual(places(-Number.MAX_VALUE, Number.MAX_VALUE, [-Number.MAX_VALUE, 0, Number.MAX_VALUE]), [0, 0.5, 1]);
  assert.deepEqual(places(0, 5e-324, [0, 5e-324]), [0, 1]);
});

test('labels of an axis are short, however large or small a number is', () => {
  const labels = [0, 5, -1234567, 2.5e12, 1.5e308, -1e76, 0.0015, 2.5e-300].map(numberLabel);
  assert.deepEqual(labels, ['0', '5', '-1.235M', '2.5T', '1.5E308', '-1E76', '0.0015', '2.5E-300']);
});

test('times have their place, those of a day and with a zone too', () => {
  assert.equal(place('2024-03-05', 'date'), Date.UTC(2024, 2, 5));
  assert.equal(place('2024-03-05 20:50:59.123456', 'timestamp(6)'), Date.UTC(2024, 2, 5, 20, 50, 59, 123));
  assert.equal(
    place('2024-03-05 20:50:59.123 UTC', 'timestamp(3) with time zone'),
    Date.UTC(2024, 2, 5, 20, 50, 59, 123),
  );
  assert.equal(place('00:00:01.5', 'time'), 1500);
  assert.equal(place('02:00:01+02', 'time with time zone'), 1000);
  assert.equal(place('02:00:01.123456-02:30', 'time with time zone'), 4.5 * 3_600_000 + 1123);
});

test('a column without a name is never the one that nobody asked for', () => {
  const columns = [
    { name: '', type: 'bigint' },
    { name: 'a', type: 'bigint' },
  ];
  const chart = chooseChart(columns, { kind: '', x: '', y: '' });
  assert.deepEqual(chart, { kind: 'histogram', x: 'a', y: '' });
  const counted = drawnOf({ kind: 'bar', x: 'a', y: '' }, columns, [
    [number('7'), number('1')],
    [number('9'), number('1')],
  ]);
  assert.deepEqual(counted.kind === 'bars' && counted.bars.map(({ y }) => y), [2]);
});
