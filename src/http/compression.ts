/**
 * Compression by Accept-Encoding, always off the main thread. zstd first, then br, then gzip, each at the level where a
 * 7 MB page takes 19, 26 and 53 ms; higher levels take several times longer for a tenth less.
 */
import type { Transform } from 'node:stream';
import { promisify } from 'node:util';
import {
  brotliCompress,
  constants,
  createBrotliCompress,
  createGzip,
  createZstdCompress,
  gzip,
  zstdCompress,
} from 'node:zlib';
import Negotiator from 'negotiator';
import { ACCEPT_CHARACTERS_MAX } from '../results/request/accept-format.ts';

export type Encoding = 'zstd' | 'br' | 'gzip';

const PREFERRED: readonly Encoding[] = ['zstd', 'br', 'gzip'];

/** The library that makes each of them, as Node names it. */
const LIBRARIES = { zstd: 'zstd', br: 'brotli', gzip: 'zlib' } as const satisfies Readonly<Record<Encoding, string>>;

/** The encoding with the version that makes it: another one may compress the same bytes in another way. */
export function encodingVersion(encoding: Encoding): string {
  const version = process.versions[LIBRARIES[encoding]] ?? process.version;
  return `${encoding}-${version.replaceAll(/[^\w]/g, '_')}`;
}

/** A body below one network packet gains nothing. */
export const COMPRESSED_BYTES_MIN = 1400;

const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
const GZIP = { level: 1 };

/**
 * The encoding to answer in: of those the client accepts, the one it weighs most, ours to choose among equals. Undefined: as it
 * is, which is always acceptable to us even where the client forbids it.
 * @param header the value of Accept-Encoding
 */
export function negotiateEncoding(header: string | undefined): Encoding | undefined {
  if (header === undefined || header.length > ACCEPT_CHARACTERS_MAX) return undefined;
  const negotiator = new Negotiator({ headers: { 'accept-encoding': header } });
  const [best] = negotiator.encodings([...PREFERRED, 'identity'], { preferred: PREFERRED });
  return PREFERRED.find((encoding) => encoding === best);
}

export async function compress(bytes: Uint8Array, encoding: Encoding): Promise<Uint8Array> {
  switch (encoding) {
    case 'zstd':
      return await promisify(zstdCompress)(bytes, ZSTD);
    case 'br':
      return await promisify(brotliCompress)(bytes, BROTLI);
    case 'gzip':
      return await promisify(gzip)(bytes, GZIP);
    default:
      return encoding satisfies never;
  }
}

/** Compresses what is written to it as it comes. */
export function compressor(encoding: Encoding): Transform {
  switch (encoding) {
    case 'zstd':
      return createZstdCompress(ZSTD);
    case 'br':
      return createBrotliCompress(BROTLI);
    case 'gzip':
      return createGzip(GZIP);
    default:
      return encoding satisfies never;
  }
}
