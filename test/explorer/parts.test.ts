/** What the explorer works out without a browser: exact digits, where the scroll bar leads, the texts that clicks make, which pages are kept. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Digits, formatExact, parseExact } from '../../web/api/exact-json.ts';
import { columnsText, namesIn } from '../../web/narrow/columns-text.ts';
import { errorPlace } from '../../web/narrow/error-place.ts';
import { andAlso, conditionOn, nextOrder, orderOf, quoteName } from '../../web/narrow/filter-text.ts';
import { cellText } from '../../web/table/cell-text.ts';
import { columnsBetween, placeColumns } from '../../web/table/column-widths.ts';
import { movedBy } from '../../web/table/keys.ts';
import { PAGE_ROWS, RowPages } from '../../web/table/row-pages.ts';
import { scrollMap, scrollTopOf, topAfter } from '../../web/table/scroll-map.ts';
import { asCode } from '../../web/take/as-code.ts';

test('JSON is read and written again with every digit as it was', () => {
  const text =
    '{"a":[9007199254740993,0.1000000000000000055,1e400,-0.0],"b":"\\u0000\\"","__proto__":null,"c":{"d":true}}';
  assert.equal(formatExact(parseExact(text)), text);
  assert.deepEqual(parseExact('12345678901234567890'), new Digits('12345678901234567890'));
});

test('every row is reached by the scroll bar, and where a row is the scroll bar leads back to it', () => {
  const anyMap = fc
    .tuple(fc.integer({ min: 1, max: 1_000_000_000 }), fc.integer({ min: 100, max: 3000 }))
    .map(([rows, viewport]) => ({ rows, map: scrollMap(rows, 28, viewport) }));
  fc.assert(
    fc.property(anyMap, fc.double({ min: 0, max: 1, noNaN: true }), ({ rows, map }, share) => {
      assert.ok(map.height <= 8_000_000);
      const top = share * map.lastTop;
      const bar = scrollTopOf(map, top);
      assert.ok(bar >= 0 && bar <= map.range);
      const jumped = topAfter(map, map.lastTop - top, bar > map.range / 2 ? -1e9 : 1e9, bar);
      if (bar > 0 && bar < map.range - 1)
        assert.ok(Math.abs(jumped - top) < 1e-6 * rows + 1e-6, `${jumped} for ${top}`);
      assert.equal(topAfter(map, top, bar, 0), 0);
      assert.equal(topAfter(map, top, bar, map.range), map.range === 0 ? 0 : map.lastTop);
      // A small step moves by as many pixels, however many rows there are.
      if (bar + 28 < map.range - 1) {
        const expected = Math.min(map.lastTop, top + 1);
        assert.ok(Math.abs(topAfter(map, top, bar, bar + 28) - expected) < 1e-6);
      }
    }),
  );
});

test('a value becomes a condition that it meets, in the language of filters', () => {
  assert.equal(
    conditionOn('a', 'uint256', '=', '115792089237316195423570985008687907853'),
    'a = 115792089237316195423570985008687907853',
  );
  assert.equal(conditionOn('IMDB "Rating"', 'double', '>=', new Digits('8.1')), '"IMDB ""Rating""" >= 8.1');
  assert.equal(conditionOn('d', 'double', '=', 'NaN'), "d = 'NaN'");
  // Rows without a value are others, too.
  assert.equal(conditionOn('t', 'varchar', '<>', "it's 5"), "t <> 'it''s 5' or t is null");
  assert.equal(conditionOn('n', 'bigint', '<>', new Digits('-5')), 'n <> -5 or n is null');
  assert.equal(conditionOn('order', 'boolean', '<>', true), 'order is not true');
  assert.equal(conditionOn('t', 'varchar', '=', '5'), "t = '5'");
  assert.equal(conditionOn('order', 'boolean', '=', false), 'order = false');
  assert.equal(conditionOn('in', 'varchar', '<>', null), '"in" is not null');
  assert.equal(conditionOn('l', 'array(varchar)', '=', ['a']), undefined);
  assert.equal(andAlso(' a = 1 or b = 2 ', 'c = 3'), '(a = 1 or b = 2) and c = 3');
  assert.equal(andAlso('', 'c = 3'), 'c = 3');
  assert.equal(andAlso('a = 1', 'c <> 3 or c is null'), 'a = 1 and (c <> 3 or c is null)');
  const two = '(a <> \'x or (y\' or a is null) and ("b or ""c" <> 3 or "b or ""c" is null)';
  assert.equal(andAlso(two, 'd = 4'), `${two} and d = 4`);
  assert.equal(andAlso('(a = 1) OR (b = 2)', 'd = 4'), '((a = 1) OR (b = 2)) and d = 4');
  assert.equal(quoteName('Größe'), '"Größe"');
});

test('a header goes from ascending to descending to stored order; others stay where that is asked for', () => {
  const NAMES = ['a', 'a b', 'x', 'y', 'y, z', '"x"'];
  assert.equal(nextOrder('', 'a b', false, NAMES), '"a b"');
  assert.equal(nextOrder('"a b"', 'a b', false, NAMES), '"a b" desc');
  assert.equal(nextOrder('"a b" desc nulls first', 'a b', false, NAMES), '');
  assert.equal(nextOrder('x desc, "y, z"', 'a', true, NAMES), 'x desc, "y, z", a');
  assert.equal(orderOf('x desc, "y, z"', 'y, z', NAMES), 'asc');
  assert.equal(orderOf('x DESC', 'x', NAMES), 'desc');
  assert.equal(orderOf('x desc', 'y', NAMES), undefined);
  // Quoted without need; and a name that has the quotes itself.
  assert.equal(orderOf('y, "x" desc', 'x', NAMES), 'desc');
  assert.equal(nextOrder('y, "x"', 'x', true, NAMES), 'y, x desc');
  assert.equal(orderOf('"x" desc', '"x"', NAMES), undefined);
  assert.equal(orderOf('"""x""" desc', '"x"', NAMES), 'desc');
  // In another case, as the service reads it: exactly that name, or else the only one that differs in case alone.
  assert.equal(orderOf('X desc', 'x', NAMES), 'desc');
  assert.equal(orderOf('"Y, Z"', 'y, z', NAMES), 'asc');
  assert.equal(nextOrder('X, Y', 'x', true, NAMES), 'Y, x desc');
  assert.equal(orderOf('X', 'x', [...NAMES, 'X']), undefined);
  assert.equal(orderOf('Who', 'who', ['who', 'WHO']), undefined);
});

test('names of columns are written and read back, whatever is in them', () => {
  const name = fc.string({ minLength: 1 }).filter((text) => text.trim() !== '');
  fc.assert(
    fc.property(fc.array(name, { minLength: 1 }), (names) => {
      assert.deepEqual(namesIn(columnsText(names)), names);
    }),
  );
});

test('the place of a mistake is read out of the error', () => {
  const text = 'filters, position 9: found ">", expected a column or a value. In: amount >»>« 5';
  assert.deepEqual(errorPlace(text), { parameter: 'filters', start: 8, length: 1 });
  assert.deepEqual(errorPlace('sort_by, position 1: there is no column "amuont". In: »amuont«')?.length, 6);
  assert.equal(errorPlace('limit: found "x", expected a whole number'), undefined);
});

test('cells are one short line, whatever the value', () => {
  assert.deepEqual(cellText(`0x${'ab'.repeat(20)}`, 'varchar'), { text: '0xababab…ababab', kind: 'code', isCut: true });
  assert.equal(cellText('x'.repeat(1_000_000), 'varchar').text.length, 240);
  assert.equal(cellText('a\nb', 'varchar').text, 'a ⏎ b');
  assert.deepEqual(cellText('12345678901234567890', 'bigint').kind, 'number');
  assert.equal(cellText({ a: [new Digits('1.50')] }, 'json').text, '{"a":[1.50]}');
});

test('a column of any name has its place, and so have those after it', () => {
  const names = ['constructor', 'toString', '__proto__', 'amount'];
  const columns = names.map((name) => ({ name, type: 'bigint' }));
  const placed = placeColumns(columns, [], new Map([['toString', 200]]), 20);
  assert.deepEqual(
    placed.map(({ left, width }) => [left, width]),
    [
      [20, 132],
      [152, 200],
      [352, 117],
      [469, 94],
    ],
  );
  assert.equal(columnsBetween(placed, 0, 1000).length, names.length);
});

test('pages come once, a dozen are kept, what has gone out of sight is not waited for', async () => {
  const asked: string[] = [];
  const aborted: number[] = [];
  let changed = Promise.withResolvers<void>();
  const load = async (offset: number, limit: number, signal: AbortSignal) => {
    asked.push(`${offset}+${limit}`);
    signal.addEventListener('abort', () => aborted.push(offset));
    // Rows so large that forty fit into an answer.
    const rows = Array.from({ length: Math.min(limit, 40) }, (_, n) => [new Digits(String(offset + n))]);
    await Promise.resolve();
    signal.throwIfAborted();
    return { rows, nextOffset: offset + rows.length };
  };
  const pages = new RowPages(
    load,
    () => changed.resolve(),
    (error) => assert.fail(String(error)),
  );
  pages.want(0, 30);
  await changed.promise;
  assert.deepEqual(asked, ['0+100', '40+60', '80+20']);
  assert.deepEqual(pages.row(99), [new Digits('99')]);
  assert.equal(pages.row(100), undefined);
  for (let page = 1; page <= 30; page += 1) {
    changed = Promise.withResolvers<void>();
    pages.want(page * PAGE_ROWS, page * PAGE_ROWS + 30);
    await changed.promise;
  }
  assert.equal(pages.keptRows, 12 * PAGE_ROWS);
  assert.equal(pages.row(0), undefined);
  pages.want(5000, 5030);
  pages.want(900_000, 900_030);
  assert.deepEqual(aborted, [5000]);
  pages.close();
});

test('keys lead from cell to cell and no further than the table', () => {
  const extent = { rows: 3_000_000, columns: 4, screen: 20 };
  const after = (key: string, from: readonly [number, number], more = {}) =>
    movedBy({ key, ctrlKey: false, metaKey: false, altKey: false, ...more }, from, extent);
  assert.deepEqual(after('ArrowUp', [0, 1]), [-1, 1]);
  assert.deepEqual(after('ArrowUp', [-1, 1]), [-1, 1]);
  assert.deepEqual(after('ArrowRight', [5, 3]), [5, 3]);
  assert.deepEqual(after('End', [5, 0], { ctrlKey: true }), [2_999_999, 3]);
  assert.deepEqual(after('PageDown', [2_999_990, 2]), [2_999_999, 2]);
  assert.equal(after('a', [0, 0]), undefined);
});

test('code asks for what is on the screen, and quotes what could end its texts', () => {
  const request = {
    base: 'https://results.example.org',
    path: '/v1/query/7/results',
    keyHeader: 'X-Service-Api-Key',
    parameters: [['filters', `a = 'it''s' and "b\\" < 5`]] as const,
  };
  assert.equal(
    asCode('curl', request),
    `curl -G 'https://results.example.org/v1/query/7/results' \\\n  -H "X-Service-Api-Key: $QRS_KEY" \\\n  --data-urlencode 'filters=a = '\\''it'\\'''\\''s'\\'' and "b\\" < 5'`,
  );
  assert.match(asCode('Python', request), /"filters": "a = 'it''s' and \\"b\\\\\\" < 5",/);
  assert.match(
    asCode('DuckDB', request),
    /read_parquet\('https:\/\/results\.example\.org\/v1\/query\/7\/results\?filters=a\+%3D/,
  );
  assert.match(
    asCode('Spreadsheet', request),
    /^=IMPORTDATA\("https:[^"]*&format=csv&ignore_max_datapoints_per_request=true&api_key=YOUR_KEY"\)$/,
  );
  assert.doesNotMatch(asCode('R', request), /'/);
  // DuckDB refuses an address with an asterisk, as a pattern of several.
  const starred = { ...request, parameters: [['filters', "a like 'x*%'"]] as const };
  assert.match(asCode('DuckDB', starred), /\?filters=a\+like\+%27x%2A%25%27&/);
});
