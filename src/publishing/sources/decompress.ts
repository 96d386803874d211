/** A compressed input, decompressed to a file of its own before anything reads it: gzip and zstd, known by their first bytes. */
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import zlib from 'node:zlib';
import type { DiskRoom } from '../../files/disk-room.ts';
import { writeInRoom } from '../../files/write-in-room.ts';
import { PublishError } from '../publish-error.ts';
import type { StagedWrites } from '../staging-budget.ts';

export type Compression = 'gzip' | 'zstd';

export function compressionOf(head: Buffer): Compression | undefined {
  if (head[0] === 0x1f && head[1] === 0x8b) return 'gzip';
  const magic = head.length < 4 ? 0 : head.readUInt32LE(0);
  return magic === 0xfd2fb528 || (magic & 0xfffffff0) >>> 0 === 0x184d2a50 ? 'zstd' : undefined;
}

/** What a stranger's file may ask of the service. */
export interface DecompressionLimits {
  /** Decompressed. */
  readonly bytesMax?: number;
  /** Pieces of a zstd file that are compressed apart; each takes a decompressor of its own, however small it is. */
  readonly framesMax?: number;
}

export interface Decompressed extends DecompressionLimits {
  readonly destination: string;
  readonly staged: StagedWrites;
  /** What makes room where the disk is full; nothing when left out. */
  readonly room?: DiskRoom | undefined;
}

/** No less than a decompressor takes before it has worked off what it has. */
const CHUNK_BYTES = 65_536;

/** The memory of a decompressor: 128 MB, what zstd takes at most unless it is told to take more (`--long`). */
const ZSTD = { params: { [zlib.constants.ZSTD_d_windowLogMax]: 27 } };

/** @throws PublishError when the data ends early or is damaged; what `staged` throws; the signal's reason once it is aborted */
export async function decompress(
  path: string,
  compression: Compression,
  {
    destination,
    staged,
    room,
    bytesMax = Number.POSITIVE_INFINITY,
    framesMax = Number.POSITIVE_INFINITY,
  }: Decompressed,
  signal: AbortSignal,
): Promise<void> {
  await using file = await open(path, 'r');
  const { size } = await file.stat();
  let bytes = 0;
  let frames = 0;
  async function* atMost(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      bytes += chunk.byteLength;
      if (bytes > bytesMax) {
        const message = `the file has more than ${bytesMax} bytes when it is decompressed`;
        throw new PublishError(message, { kind: 'too_large' });
      }
      await staged.take(chunk.byteLength);
      yield chunk;
    }
  }
  try {
    // Node's decompressor of zstd ends after the first frame, and a file may have many.
    for (let start = 0, flags = 'w'; start < size; flags = 'a') {
      frames += 1;
      if (frames > framesMax)
        throw new PublishError(`the file has more than ${framesMax} zstd frames: compress it as one`);
      const decoder = compression === 'gzip' ? zlib.createGunzip() : zlib.createZstdDecompress(ZSTD);
      const source = createReadStream(path, { start, highWaterMark: CHUNK_BYTES });
      await pipeline(source, whatIsRead(decoder), decoder, atMost, writeInRoom(destination, room, flags), {
        signal,
      });
      if (decoder.bytesWritten === 0) throw new PublishError(`the file is ${compression}, and cannot be decompressed`);
      start += decoder.bytesWritten;
    }
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof Error) || !('code' in error) || !/^(Z|ZSTD)_/.test(String(error.code))) throw error;
    if (error.code === 'ZSTD_error_frameParameter_windowTooLarge') {
      throw new PublishError(
        'the zstd data takes more than 128 MB of memory to decompress: compress it without --long',
      );
    }
    throw new PublishError(
      error.code === 'Z_BUF_ERROR'
        ? `the ${compression} data ends early: the file is cut off; copy or download it again`
        : `the ${compression} data is damaged (${error.message}); copy or download the file again`,
    );
  }
}

/** Gives no more to a decompressor that leaves part of what it had: its frame has ended, and another piece would be read as a new one. */
function whatIsRead(decoder: { readonly bytesWritten: number }) {
  return async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let given = 0;
    for await (const chunk of chunks) {
      if (decoder.bytesWritten < given) return;
      given += chunk.byteLength;
      yield chunk;
    }
  };
}
