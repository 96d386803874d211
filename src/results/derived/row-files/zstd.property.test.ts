/**
 * The compressor and decompressor that are kept give what Node's functions give, whatever they were used for before, and however damaged that was.
 * TEST_SEED=… repeats a run.
 */
import assert from 'node:assert/strict';
import { syncBuiltinESMExports } from 'node:module';
import { type TestContext, test } from 'node:test';
import zlib from 'node:zlib';
import { Random } from '../../../../test/feature/random-results.ts';
import { KeptZstd, plainZstd, zstd } from './zstd.ts';

const SEED = Number(process.env.TEST_SEED ?? 1);
const TEXTS = 300;
const PACKINGS = ['small', 'quick'] as const;

test('any texts, in any order: frames out of which Node’s own function gets the texts, and so does what is kept', (t) => {
  const random = seeded(t);
  const kept = new KeptZstd();
  const frames: { readonly text: Buffer; readonly frame: Buffer }[] = [];
  for (let i = 0; i < TEXTS; i += 1) {
    const text = randomText(random);
    const frame = kept.compress(text, random.pick(PACKINGS));
    assert.deepEqual(content(plainZstd, frame, text.length), text, `text ${i} of ${text.length} bytes`);
    frames.push({ text, frame });
    const earlier = random.pick(frames);
    assert.deepEqual(content(kept, earlier.frame, earlier.text.length), earlier.text);
  }
});

test('a frame with one other byte, cut or followed by more gives its text or nothing, and the next frame its text', (t) => {
  const random = seeded(t);
  const texts = [
    'abc'.repeat(99),
    JSON.stringify({ words: 'to and fro '.repeat(9), numbers: [1, 22, 333] }),
    '1'.repeat(70_000),
    Array.from({ length: 40_000 }, () => random.below(1000)).join(','),
  ];
  const kept = new KeptZstd();
  for (const text of texts.map((each) => Buffer.from(each))) {
    const frame = kept.compress(text, random.pick(PACKINGS));
    const step = Math.ceil(frame.length / 500);
    const places = Array.from({ length: frame.length }, (_, at) => at);
    for (const at of places.filter((each) => each % step === 0 || each < 20 || each > frame.length - 20)) {
      const changed = Buffer.from(frame);
      changed[at] = (frame[at] ?? 0) ^ (1 + random.below(255));
      const cut = frame.subarray(0, at);
      const longer = Buffer.concat([frame, frame.subarray(0, 1 + at)]);
      for (const [what, damaged] of Object.entries({ changed, cut, longer })) {
        for (const codec of [kept, plainZstd]) {
          const [memory, name] = [Buffer.alloc(text.length + 1000), `${what} at ${at} of ${frame.length}`];
          const into = memory.subarray(0, text.length);
          const isGiven = codec.decompress(damaged, into);
          if (isGiven) assert.deepEqual(into, text, name);
          assert.ok(!isGiven || what === 'changed', name);
          assert.deepEqual(memory.subarray(text.length), Buffer.alloc(1000), name);
          assert.deepEqual(content(codec, frame, text.length), text, `after one ${name}`);
        }
      }
    }
  }
});

test('a frame of more or fewer bytes than there is room for is told', () => {
  const kept = new KeptZstd();
  const frame = kept.compress(Buffer.from('twelve bytes'), 'small');
  for (const codec of [kept, plainZstd]) {
    assert.equal(content(codec, frame, 11), undefined);
    assert.equal(content(codec, frame, 13), undefined);
    assert.equal(String(content(codec, frame, 12)), 'twelve bytes');
  }
});

test('this Node has what is needed to keep them; where streams are others, its functions serve', async (t) => {
  assert.ok(zstd instanceof KeptZstd);
  const { createZstdDecompress } = zlib;
  for (const [name, other] of Object.entries({
    stateless: { _writeState: { value: undefined } },
    late: { destroyed: { get: () => false } },
  })) {
    t.mock.method(zlib, 'createZstdDecompress', () => Object.defineProperties(createZstdDecompress(), other));
    syncBuiltinESMExports();
    const again = `./zstd.ts?${name}`;
    const loaded = (await import(again)) as typeof import('./zstd.ts');
    t.mock.restoreAll();
    syncBuiltinESMExports();
    assert.equal(loaded.zstd, loaded.plainZstd, name);
  }
});

function content(codec: { decompress: typeof zstd.decompress }, frame: Uint8Array, bytes: number): Buffer | undefined {
  const into = Buffer.alloc(bytes);
  return codec.decompress(frame, into) ? into : undefined;
}

/** Of a byte to a few megabytes, and such as can be compressed well, badly or not at all. */
function randomText(random: Random): Buffer {
  const length =
    1 + random.below(random.pick([10, 1000, 20_000, 20_000, 20_000, 300_000, random.chance(5) ? 2_500_000 : 10]));
  const piece = random.pick([
    () => random.pick(['0', '1', ',', '{"a":']).repeat(1 + random.below(5000)),
    () => JSON.stringify({ id: random.below(1000), name: `user ${random.below(9)}` }).repeat(1 + random.below(9)),
    () => String.fromCharCode(...Array.from({ length: 500 }, () => random.below(256))),
  ]);
  let text = piece();
  while (text.length < length) text += piece();
  return Buffer.from(text.slice(0, length), 'latin1');
}

function seeded(t: TestContext): Random {
  t.diagnostic(`seed ${SEED}`);
  return new Random(SEED);
}
