import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../test/feature/random-results.ts';
import { BLOCK_ENTRIES, type Entries, EntryBlock, encodeEntryBlock } from './entry-block.ts';

const SEED = Number(process.env.TEST_SEED ?? 1);

/** @param keys sorted @param keyBytes 0 where they differ in length */
function blockOf(keys: readonly Buffer[], keyBytes: number): EntryBlock {
  let end = 0;
  const ends = Uint32Array.from(keys, ({ length }) => {
    end += length;
    return end;
  });
  const entries: Entries = {
    count: keys.length,
    positions: Uint32Array.from(keys, (_, entry) => 1000 - entry),
    keyEnds: keyBytes === 0 ? ends : undefined,
    keys: Buffer.concat(keys),
  };
  return new EntryBlock(encodeEntryBlock(entries, keyBytes, { from: 0, to: keys.length }), keys.length, keyBytes);
}

test('a block stores once what all of its keys begin with, and finds keys before, within and after them', () => {
  const block = blockOf(
    ['user_1', 'user_10', 'user_10', 'user_2'].map((key) => Buffer.from(key)),
    0,
  );
  const below = (key: string) => [block.countBelow(Buffer.from(key), false), block.countBelow(Buffer.from(key), true)];
  assert.deepEqual(below(''), [0, 0]);
  assert.deepEqual(below('user'), [0, 0]);
  assert.deepEqual(below('user_'), [0, 0]);
  assert.deepEqual(below('user_1'), [0, 1]);
  assert.deepEqual(below('user_10'), [1, 3]);
  assert.deepEqual(below('user_2'), [3, 4]);
  assert.deepEqual(below('user_3'), [4, 4]);
  assert.deepEqual(below('v'), [4, 4]);
  assert.deepEqual(below('uses'), [4, 4]);
  assert.deepEqual(below('use'), [0, 0]);
  assert.deepEqual([...block.positions], [1000, 999, 998, 997]);
  assert.deepEqual(block.equalTo(1), { from: 1, to: 3 });
  assert.deepEqual(block.equalTo(3), { from: 3, to: 4 });
  assert.equal(Buffer.from(block.key(2)).toString(), 'user_10');
});

test('what all keys of a block begin with is stored once', () => {
  const keys = Array.from({ length: BLOCK_ENTRIES }, (_, i) => Buffer.from([...Buffer.from('user_1234'), i]));
  const entries = { count: 256, positions: new Uint32Array(256), keyEnds: undefined, keys: Buffer.concat(keys) };
  // A header, a position for each key, what they share, and a byte for each, up to a multiple of four.
  assert.equal(encodeEntryBlock(entries, 10, { from: 0, to: 256 }).length, 4 + 4 * 256 + 9 + 256 + 3);
});

test(`blocks of any keys give the counts of a plain comparison (seed ${SEED})`, () => {
  for (let seed = SEED; seed < SEED + 200; seed += 1) {
    const random = new Random(seed);
    const keyBytes = random.pick([0, 1, 2, 8]);
    // Rests of together more than 65,535 bytes have longer ends.
    const shared = Buffer.alloc(keyBytes === 0 ? random.pick([0, 3, 300]) : random.below(keyBytes), 'ab');
    const lengthMax = keyBytes === 0 ? random.pick([1, 4, 600]) : keyBytes - shared.length;
    const letters = random.pick([2, 256]);
    const any = (length: number) => Buffer.from(Array.from({ length }, () => random.below(letters)));
    const key = () => Buffer.concat([shared, any(keyBytes === 0 ? random.below(lengthMax + 1) : lengthMax)]);
    const keys = Array.from({ length: 1 + random.below(BLOCK_ENTRIES) }, key).sort(Buffer.compare);
    const block = blockOf(keys, keyBytes);
    const others = Array.from({ length: 50 }, () =>
      random.pick([key(), any(random.below(12)), shared, random.pick(keys)]),
    );
    for (const other of others) {
      const orders = keys.map((one) => Buffer.compare(one, other));
      assert.equal(block.countBelow(other, false), orders.filter((order) => order < 0).length, `seed ${seed}`);
      assert.equal(block.countBelow(other, true), orders.filter((order) => order <= 0).length, `seed ${seed}`);
    }
    for (let entry = 0; entry < keys.length; entry += 7) {
      const one = keys[entry] ?? Buffer.alloc(0);
      assert.deepEqual(Buffer.from(block.key(entry)), one, `seed ${seed}`);
      const equal = keys.flatMap((key, at) => (key.equals(one) ? [at] : []));
      assert.deepEqual(block.equalTo(entry), { from: equal[0], to: (equal.at(-1) ?? 0) + 1 }, `seed ${seed}`);
    }
  }
});
