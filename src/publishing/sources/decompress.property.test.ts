/** A compressed file may be many that were put one behind the other: what comes out is all of it, whatever the lengths of the pieces. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { UNLIMITED_STAGING } from '../staging-budget.ts';
import { decompress } from './decompress.ts';

const CASES = Number(process.env.TEST_CASES ?? 40);
const SEED = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));

const folder = await mkdtemp(join(tmpdir(), 'qrs-decompress-'));
after(() => rm(folder, { recursive: true }));
const [path, destination] = [join(folder, 'in'), join(folder, 'out')];

/** Bytes that do not shrink, so that pieces end anywhere within what is read at a time. */
function noise(length: number, seed: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0, state = seed; at < length; at += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[at] = state >>> 24;
  }
  return bytes;
}

const never = new AbortController().signal;

test(`all pieces are decompressed, of gzip and of zstd (${CASES} cases)`, async (t) => {
  t.diagnostic(`seed ${SEED}`);
  const length = fc.oneof(fc.constantFrom(0, 1, 65_500, 65_523, 65_536, 131_072), fc.nat(200_000), fc.nat(300));
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('gzip' as const, 'zstd' as const),
      fc.array(fc.tuple(length, fc.nat()), { minLength: 1, maxLength: 12 }),
      async (compression, lengths) => {
        const contents = lengths.map(([bytes, seed]) => noise(bytes, seed));
        const compress = compression === 'gzip' ? gzipSync : zstdCompressSync;
        await writeFile(path, Buffer.concat(contents.map((piece) => compress(piece))));
        await decompress(path, compression, { destination, staged: UNLIMITED_STAGING }, never);
        assert.equal((await readFile(destination)).equals(Buffer.concat(contents)), true);
      },
    ),
    { numRuns: CASES, seed: SEED },
  );
});

test('a file that is cut anywhere is refused', async () => {
  for (const [compression, compress] of [
    ['gzip', gzipSync],
    ['zstd', zstdCompressSync],
  ] as const) {
    const whole = Buffer.concat([noise(100_000, 1), noise(70_000, 2)].map((piece) => compress(piece)));
    for (const length of [20, 50_000, 99_990, 100_030, 150_000, whole.length - 1]) {
      await writeFile(path, whole.subarray(0, length));
      await assert.rejects(decompress(path, compression, { destination, staged: UNLIMITED_STAGING }, never), {
        kind: 'input',
        message: `the ${compression} data ends early: the file is cut off; copy or download it again`,
      });
    }
  }
});

test('of a stranger only so many frames are taken', async () => {
  const piece = zstdCompressSync('a');
  const limited = { destination, staged: UNLIMITED_STAGING, framesMax: 3 };
  await writeFile(path, Buffer.concat([piece, piece, piece]));
  await decompress(path, 'zstd', limited, never);
  assert.equal(await readFile(destination, 'utf8'), 'aaa');
  await writeFile(path, Buffer.concat([piece, piece, piece, piece]));
  await assert.rejects(decompress(path, 'zstd', limited, never), {
    kind: 'input',
    message: 'the file has more than 3 zstd frames: compress it as one',
  });
});
