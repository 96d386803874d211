import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { compress, compressor, type Encoding, negotiateEncoding } from './compression.ts';

for (const [header, expected] of [
  [undefined, undefined],
  ['', undefined],
  ['gzip, deflate, br, zstd', 'zstd'],
  ['gzip, deflate, br', 'br'],
  ['gzip', 'gzip'],
  ['GZIP;q=0.5, br;q=0.1', 'gzip'],
  ['gzip;q=0', undefined],
  ['*', 'zstd'],
  ['*;q=0, gzip', 'gzip'],
  ['identity', undefined],
  ['identity, gzip;q=0.5', undefined],
  ['deflate', undefined],
  ['gzip;q=nonsense', undefined],
] as const) {
  test(`Accept-Encoding: ${header} is answered in ${expected ?? 'identity'}`, () => {
    assert.equal(negotiateEncoding(header), expected);
  });
}

const DECOMPRESS: Readonly<Record<Encoding, (bytes: Uint8Array) => Uint8Array>> = {
  zstd: zstdDecompressSync,
  br: brotliDecompressSync,
  gzip: gunzipSync,
};

for (const encoding of ['zstd', 'br', 'gzip'] as const) {
  test(`${encoding}: what was compressed, at once or in pieces, decompresses to the original`, async () => {
    const bytes = Buffer.from('the same words again and again '.repeat(1000));
    const compressed = await compress(bytes, encoding);
    assert.ok(compressed.byteLength < bytes.byteLength / 10);
    assert.deepEqual(Buffer.from(DECOMPRESS[encoding](compressed)), bytes);
    const stream = compressor(encoding);
    stream.end(bytes);
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    assert.deepEqual(Buffer.from(DECOMPRESS[encoding](Buffer.concat(chunks))), bytes);
  });
}
