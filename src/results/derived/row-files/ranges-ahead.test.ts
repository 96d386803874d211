import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeTime } from '../../../../test/fake-time.ts';
import type { Part } from '../../../domain/result-set.ts';
import { letOthersRun } from '../../../domain/time.ts';
import { Turns } from '../../../domain/turns.ts';
import { EncodedRange } from './encoded-range.ts';
import { RangesAhead } from './ranges-ahead.ts';
import type { RowTexts } from './read-row-texts.ts';
import { readRange } from './read-rows.ts';
import { rowProjection } from './row-projection.ts';

const { signal } = new AbortController();
/** It never runs out, since time stands still. */
const PATIENCE = { millis: 30_000, sleep: new FakeTime(0).sleep };
const COLUMNS = [{ name: 'n', type: { kind: 'bigint' } }] as const;
const COMMA = 0x2c;
const LINE = 0x0a;
/** Rows of 8 bytes, of which so many take about 21 bytes each as text. */
const part: Part = {
  key: 'x/part-0.parquet',
  sha256: 'aa',
  firstRow: 0,
  rowCount: 80_000,
  cellBytes: 640_001,
  rowBytesMax: 9,
  objectBytes: 100_000,
};

/** Rows `{"n":from}` and so on. */
function texts(from: number, to: number): RowTexts {
  const rows = Array.from({ length: to - from }, (_, index) => `{"n":${from + index}}`);
  const numbers = [Uint32Array.from(rows, ({ length }) => length), new Uint32Array(rows.length).fill(8)];
  const text = Buffer.allocUnsafeSlow(rows.reduce((sum, { length }) => sum + length + 1, 0));
  text.write(`${rows.join()},`);
  return { about: { nameBytes: [3], sized: [] }, text, numbers };
}

async function read(encoded: EncodedRange, from: number, to: number, separator: number): Promise<string> {
  const projection = rowProjection([{ name: 'n', type: { kind: 'bigint' }, index: 0 }], encoded.about);
  assert.ok(projection);
  const taken = await Array.fromAsync(readRange(encoded, { from, to }, projection, separator, signal));
  assert.equal(
    taken.reduce((sum, { rowCount }) => sum + rowCount, 0),
    to - from,
  );
  return taken.map(({ text }) => text.toString()).join(String.fromCharCode(separator));
}

function rowsOf(from: number, to: number, separator: string): string {
  return Array.from({ length: to - from }, (_, index) => `{"n":${from + index}}`).join(separator);
}

/** A budget, its clock, and how to begin encoded ranges that the test then gives. */
function rangesAheadOf(bytesMax: number) {
  let now = 0;
  const ahead = new RangesAhead(bytesMax, () => now, PATIENCE);
  const unreadable: number[] = [];
  const begin = (row: number) => {
    const { promise, resolve, reject } = Promise.withResolvers<RowTexts>();
    const rows = ahead.around(part, COLUMNS, row);
    assert.ok(rows);
    let isBegun = false;
    const read = (_: unknown, during: AbortSignal) => {
      isBegun = true;
      during.addEventListener('abort', () => reject(during.reason));
      return promise;
    };
    ahead.begin(part, COLUMNS, rows, read, () => unreadable.push(row));
    const give = async (bytesMore = 0) => {
      const all = texts(rows.from, rows.to);
      resolve({ ...all, text: Buffer.concat([all.text, Buffer.alloc(bytesMore)]) });
      await letOthersRun();
    };
    return { rows, isBegun, give, reject };
  };
  return { ahead, unreadable, begin, wait: (millis: number) => (now += millis) };
}

test('an encoded range has the rows of its range with either separator, over many blocks, as often as they are asked for', async () => {
  const encoded = new EncodedRange({ from: 16_384, to: 32_768 }, texts(16_384, 32_768), new Turns());
  assert.equal(await read(encoded, 16_384, 16_385, COMMA), '{"n":16384}');
  for (const [from, to] of [
    [16_384, 32_768],
    [16_390, 16_395],
    [20_000, 31_000],
    [32_767, 32_768],
  ] as const) {
    assert.equal(await read(encoded, from, to, LINE), rowsOf(from, to, '\n'));
    assert.equal(await read(encoded, from, to, COMMA), rowsOf(from, to, ','));
  }
});

test('two who read the same rows in two formats at once do not disturb each other', async () => {
  const encoded = new EncodedRange({ from: 0, to: 16_384 }, texts(0, 16_384), new Turns());
  const [lines, commas] = await Promise.all([read(encoded, 0, 16_384, LINE), read(encoded, 0, 16_384, COMMA)]);
  assert.equal(lines, rowsOf(0, 16_384, '\n'));
  assert.equal(commas, rowsOf(0, 16_384, ','));
});

test('an encoded range that makes room is read to its end by whoever reads it, and by nobody else', async () => {
  const encoded = new EncodedRange({ from: 0, to: 16_384 }, texts(0, 16_384), new Turns());
  const reading = encoded.reading();
  encoded.retire();
  assert.equal(await read(encoded, 0, 16_384, COMMA), rowsOf(0, 16_384, ','));
  reading?.[Symbol.dispose]();
  assert.equal(encoded.reading(), undefined);
});

test('encoded ranges are row groups, or so much of them as a quarter of the memory has room for', () => {
  assert.deepEqual(new RangesAhead(100_000_000, () => 0, PATIENCE).around(part, COLUMNS, 20_000), {
    from: 16_384,
    to: 32_768,
  });
  assert.deepEqual(new RangesAhead(100_000_000, () => 0, PATIENCE).around(part, COLUMNS, 79_999), {
    from: 65_536,
    to: 80_000,
  });
  assert.deepEqual(new RangesAhead(200_000, () => 0, PATIENCE).around(part, COLUMNS, 20_000), {
    from: 18_432,
    to: 20_480,
  });
  assert.equal(new RangesAhead(50_000, () => 0, PATIENCE).around(part, COLUMNS, 20_000), undefined);
  assert.equal(new RangesAhead(0, () => 0, PATIENCE).around(part, COLUMNS, 0), undefined);
});

test('what the rows of an encoded range may have together is told where all wide rows of its part may lie in it', () => {
  const wantedOf = (of: Part): unknown => {
    const ahead = new RangesAhead(40_000_000, () => 0, PATIENCE);
    const rows = ahead.around(of, COLUMNS, 20_000);
    assert.ok(rows);
    let wanted: unknown;
    const read = async (asked: unknown) => {
      wanted = asked;
      return texts(rows.from, rows.to);
    };
    ahead.begin(of, COLUMNS, rows, read, () => undefined);
    return wanted;
  };
  const whole = { from: 16_384, to: 32_768 };
  assert.deepEqual(wantedOf({ ...part, rowBytesMax: 300 }), { ...whole, cellBytesMax: undefined });
  const wide = { ...part, cellBytes: 12_000_000 };
  assert.deepEqual(wantedOf({ ...wide, rowBytesMax: 300 }), { ...whole, cellBytesMax: undefined });
  assert.deepEqual(wantedOf({ ...wide, rowBytesMax: 5000 }), { ...whole, cellBytesMax: 6_291_456 });
});

test('who asks for an encoded range that is being read waits for it; what cannot be read is not there', async () => {
  const { ahead, unreadable, begin } = rangesAheadOf(1_000_000);
  const first = begin(0);
  const second = begin(16_384);
  const found = ahead.find(part, first.rows, signal);
  await first.give();
  assert.equal((await found)?.rows.to, 8192);
  const missed = ahead.find(part, second.rows, signal);
  second.reject(new Error('the disk is gone'));
  assert.equal(await missed, undefined);
  assert.equal(ahead.has(part, second.rows), false);
  assert.deepEqual(unreadable, [16_384]);
  assert.equal(ahead.bytes, (await found)?.byteLength);
});

test('who has waited for an encoded range as long as may be goes without it; nobody else waits, and what comes late is there', async () => {
  const time = new FakeTime(0);
  const ahead = new RangesAhead(1_000_000, time.clock, { millis: 30_000, sleep: time.sleep });
  const rows = { from: 0, to: 8192 };
  const given = Promise.withResolvers<RowTexts>();
  ahead.begin(part, COLUMNS, rows, () => given.promise, assert.fail);
  const asleep = time.nextSleep();
  const waiting = ahead.find(part, rows, signal);
  await asleep;
  time.advance(30_000);
  assert.equal(await waiting, undefined);
  assert.equal(await ahead.find(part, rows, signal), undefined);
  given.resolve(texts(0, 8192));
  await letOthersRun();
  assert.equal((await ahead.find(part, rows, signal))?.rows.to, 8192);
});

test('what takes more memory than it was thought to, and than there is, is given up', async () => {
  const { ahead, unreadable, begin } = rangesAheadOf(1_000_000);
  const { rows, give } = begin(0);
  const found = ahead.find(part, rows, signal);
  await give(1_000_000);
  assert.equal(await found, undefined);
  assert.deepEqual([ahead.has(part, rows), ahead.bytes, unreadable], [false, 0, [0]]);
});

test('an encoded range is begun once, three are read at a time, and none once the service stops', async () => {
  const { ahead, begin } = rangesAheadOf(1_000_000);
  const [one, again, two, three, fourth] = [begin(0), begin(1), begin(8192), begin(16_384), begin(24_576)];
  assert.deepEqual(
    [one, again, two, three, fourth].map(({ isBegun }) => isBegun),
    [true, false, true, true, false],
  );
  await one.give();
  assert.equal(begin(24_576).isBegun, true);
  await ahead[Symbol.asyncDispose]();
  assert.equal(begin(32_768).isBegun, false);
  assert.equal(ahead.has(part, two.rows), false);
});

test('the memory of what is being read is told in whole bytes', () => {
  const { ahead, begin } = rangesAheadOf(1_000_000);
  begin(72_000);
  assert.ok(Number.isInteger(ahead.bytes));
});

test('who leaves does not wait', async () => {
  const { ahead, begin } = rangesAheadOf(1_000_000);
  const { rows } = begin(0);
  const left = new AbortController();
  const found = ahead.find(part, rows, left.signal);
  left.abort(new Error('the client has left'));
  await assert.rejects(found, /the client has left/);
});

test('room is made by encoded ranges that were read to their end, or that nobody has used for two seconds', async () => {
  const { ahead, begin, wait } = rangesAheadOf(690_000);
  const all = [];
  for (const row of [0, 8192, 16_384, 24_576, 32_768]) {
    const begun = begin(row);
    await begun.give();
    all.push(begun.rows);
  }
  const [first, second, third] = all;
  assert.ok(first && second && third);
  assert.equal(begin(40_960).isBegun, false);

  const used = await ahead.find(part, second, signal);
  assert.ok(used);
  await read(used, 16_000, 16_384, COMMA);
  const next = begin(40_960);
  assert.equal(next.isBegun, true);
  assert.equal(ahead.has(part, second), false);
  await next.give();

  wait(1999);
  await ahead.find(part, first, signal);
  assert.equal(begin(49_152).isBegun, false);
  wait(1);
  assert.equal(begin(49_152).isBegun, true);
  assert.deepEqual([ahead.has(part, first), ahead.has(part, third)], [true, false]);
});
