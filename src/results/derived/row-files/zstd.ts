/**
 * zstd for many small texts. `zstdCompressSync` and `zstdDecompressSync` make a compressor or a decompressor for each call, which takes longer
 * than to pack or unpack 8 KB, and most of all in a virtual machine: zstd asks the processor what it can do each time, and the hypervisor
 * answers (decision 51). Node keeps them for streams only, each of whose writes waits for a turn of another thread. So the call beneath
 * those streams is made here. Node does not document it; where it does not do what is expected of it, Node's functions serve.
 */
import {
  constants,
  createZstdCompress,
  createZstdDecompress,
  type ZstdCompress,
  type ZstdDecompress,
  zstdCompressSync,
  zstdDecompressSync,
} from 'node:zlib';

/** `small`: frames take few bytes. `quick`: they are made and unpacked in two thirds of the time, and take half as many bytes again, or twice as many (decision 52). */
export type Packing = 'small' | 'quick';

export interface Zstd {
  /** @returns a frame that names the bytes of its content and ends with a checksum of them, in memory of its own */
  compress(text: Uint8Array, packing: Packing): Buffer;
  /** @returns whether the frame has as many bytes as there is room for, and its checksum is right; then they are there now */
  decompress(frame: Uint8Array, into: Uint8Array): boolean;
}

/** Level 3 is both larger and slower for texts of a few kilobytes. From -2 on, bytes that do not repeat are stored as they are. */
const OPTIONS = { small: optionsOf(1), quick: optionsOf(-2) };
/** Of a frame's checksum: the lower half of the XXH64 of its content. */
export const CHECKSUM_BYTES = 4;
/** With an output buffer of just the right size zlib would be called once more, only to find that nothing is left. */
const SPARE_BYTES = 64;

/** By Node's functions. */
export const plainZstd: Zstd = {
  compress(text, packing) {
    return zstdCompressSync(text, OPTIONS[packing]);
  },

  decompress(frame, into) {
    // Damaged frames may say that they hold gigabytes.
    const bytesMax = into.length + SPARE_BYTES;
    if (!isChecked(frame)) return false;
    try {
      const text = zstdDecompressSync(frame, { chunkSize: bytesMax, maxOutputLength: bytesMax });
      if (text.length !== into.length) return false;
      into.set(text);
      return true;
    } catch {
      return false;
    }
  },
};

/** After the magic number: what the frame's header has. */
const DESCRIPTOR = 4;
const [DICTIONARY, CHECKSUM, SINGLE_SEGMENT] = [0x03, 0x04, 0x20];
const CONTENT_SIZE_BYTES = [0, 2, 4, 8] as const;
const BLOCK_HEADER_BYTES = 3;
const RUN = 1;

/**
 * Whether it is one frame from its first byte to its last and ends with a checksum, so that whoever has unpacked all of its bytes has compared
 * that (RFC 8878, 3.1.1).
 */
function isChecked(frame: Uint8Array): boolean {
  const descriptor = frame[DESCRIPTOR] ?? 0;
  if ((descriptor & CHECKSUM) === 0 || (descriptor & DICTIONARY) !== 0) return false;
  const sizeBytes = CONTENT_SIZE_BYTES[descriptor >> 6] ?? 0;
  // A single segment has no window, and a content size of at least one byte.
  let at = DESCRIPTOR + 1 + ((descriptor & SINGLE_SEGMENT) === 0 ? 1 + sizeBytes : Math.max(1, sizeBytes));
  for (let isLast = false; !isLast; ) {
    if (at >= frame.length) return false;
    const header = (frame[at] ?? 0) | ((frame[at + 1] ?? 0) << 8) | ((frame[at + 2] ?? 0) << 16);
    isLast = (header & 1) === 1;
    at += BLOCK_HEADER_BYTES + (((header >> 1) & 3) === RUN ? 1 : header >> 3);
  }
  return at + CHECKSUM_BYTES === frame.length;
}

/** What lies beneath a zlib stream of Node. */
interface Stream {
  readonly destroyed: boolean;
  readonly _handle: {
    writeSync(
      flush: number,
      input: Uint8Array,
      inputStart: number,
      inputBytes: number,
      output: Uint8Array,
      outputStart: number,
      outputBytes: number,
    ): void;
  };
  /** After a write: the bytes of the output that are free, and those of the input that are left. */
  readonly _writeState: Uint32Array;
  destroy(): void;
}

/** By a compressor and a decompressor that are kept. What fails with them is done by Node's functions, and what follows with new ones. */
export class KeptZstd implements Zstd {
  readonly #compressors: { [packing in Packing]?: Stream } = {};
  #decompressor: Stream | undefined;
  #output = Buffer.allocUnsafeSlow(64 * 1024);

  compress(text: Uint8Array, packing: Packing): Buffer {
    const bytesMax = text.length + (text.length >> 7) + 512;
    if (this.#output.length < bytesMax) this.#output = Buffer.allocUnsafeSlow(bytesMax);
    this.#compressors[packing] ??= streamOf(createZstdCompress(OPTIONS[packing]));
    const compressor = this.#compressors[packing];
    const left = write(compressor, constants.ZSTD_e_end, text, this.#output);
    if (left.input === 0 && left.output > 0) {
      return Buffer.from(this.#output.subarray(0, this.#output.length - left.output));
    }
    compressor.destroy();
    delete this.#compressors[packing];
    return plainZstd.compress(text, packing);
  }

  decompress(frame: Uint8Array, into: Uint8Array): boolean {
    if (!isChecked(frame)) return false;
    this.#decompressor ??= streamOf(createZstdDecompress());
    const left = write(this.#decompressor, constants.ZSTD_e_continue, frame, into);
    if (left.input === 0 && left.output === 0) return true;
    this.#decompressor.destroy();
    this.#decompressor = undefined;
    return plainZstd.decompress(frame, into);
  }
}

function optionsOf(level: number) {
  return { params: { [constants.ZSTD_c_compressionLevel]: level, [constants.ZSTD_c_checksumFlag]: 1 } };
}

/** Of the running Node. */
export const zstd: Zstd = isKeptZstdRight() ? new KeptZstd() : plainZstd;

/** Whether a text comes back, and a wrong checksum is noticed: only an error tells of that, since the text comes back all the same. */
function isKeptZstdRight(): boolean {
  const text = Buffer.from('a text, and a text');
  const into = Buffer.alloc(text.length);
  try {
    const kept = new KeptZstd();
    const frame = kept.compress(text, 'small');
    if (!kept.decompress(frame, into) || !into.equals(text)) return false;
    frame.writeUInt8((frame.at(-1) ?? 0) ^ 1, frame.length - 1);
    return !kept.decompress(frame, into);
  } catch {
    return false;
  }
}

/** @throws where nothing of the kind lies beneath it */
function streamOf(stream: ZstdCompress | ZstdDecompress): Stream {
  const { _handle: binding, _writeState: state } = stream as Partial<Stream>;
  if (typeof binding?.writeSync !== 'function' || !(state instanceof Uint32Array) || state.length !== 2) {
    throw new Error('this Node has other streams');
  }
  // Where zstd fails, the stream is destroyed, and says so a turn later.
  stream.on('error', () => undefined);
  return stream as unknown as Stream;
}

function write(
  stream: Stream,
  flush: number,
  input: Uint8Array,
  output: Uint8Array,
): { readonly input: number; readonly output: number } {
  stream._handle.writeSync(flush, input, 0, input.length, output, 0, output.length);
  const [outputLeft = 0, inputLeft = 0] = stream._writeState;
  return stream.destroyed ? { input: input.length, output: output.length } : { input: inputLeft, output: outputLeft };
}
