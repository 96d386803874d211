/** A compressed input, decompressed to a file of its own before anything reads it: gzip and zstd, known by their first bytes. */
import { createReadStream, createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import zlib from 'node:zlib';
import { PublishError } from '../publish-error.ts';

export type Compression = 'gzip' | 'zstd';

export function compressionOf(head: Buffer): Compression | undefined {
  if (head[0] === 0x1f && head[1] === 0x8b) return 'gzip';
  const magic = head.length < 4 ? 0 : head.readUInt32LE(0);
  return magic === 0xfd2fb528 || (magic & 0xfffffff0) >>> 0 === 0x184d2a50 ? 'zstd' : undefined;
}

/** @throws PublishError when the data ends early or is damaged; the signal's reason once it is aborted */
export async function decompress(
  path: string,
  compression: Compression,
  {
    destination,
    bytesMax = Number.POSITIVE_INFINITY,
  }: { readonly destination: string; readonly bytesMax?: number | undefined },
  signal: AbortSignal,
): Promise<void> {
  await using file = await open(path, 'r');
  const { size } = await file.stat();
  let bytes = 0;
  async function* atMost(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      bytes += chunk.byteLength;
      if (bytes > bytesMax) throw new PublishError(`the file has more than ${bytesMax} bytes when it is decompressed`);
      yield chunk;
    }
  }
  try {
    // Node's decompressor of zstd ends after the first frame, and a file may have many.
    for (let start = 0, flags = 'w'; start < size; flags = 'a') {
      const decoder = compression === 'gzip' ? zlib.createGunzip() : zlib.createZstdDecompress();
      const source = createReadStream(path, { start });
      await pipeline(source, decoder, atMost, createWriteStream(destination, { flags }), { signal });
      if (decoder.bytesWritten === 0) throw new PublishError(`the file is ${compression}, and cannot be decompressed`);
      start += decoder.bytesWritten;
    }
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof Error) || !('code' in error) || !/^(Z|ZSTD)_/.test(String(error.code))) throw error;
    throw new PublishError(
      error.code === 'Z_BUF_ERROR'
        ? `the ${compression} data ends early: the file is cut off; copy or download it again`
        : `the ${compression} data is damaged (${error.message}); copy or download the file again`,
    );
  }
}
