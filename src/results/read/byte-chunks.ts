/** Bytes in one piece or several: what is large is not copied only to be in one. */
export type ByteChunks = readonly Uint8Array[];

/** Copying so many bytes costs less than sending them in pieces. */
const JOINED_BYTES_MAX = 1024 * 1024;

export function byteLengthOf(byteChunks: ByteChunks): number {
  return byteChunks.reduce((sum, piece) => sum + piece.byteLength, 0);
}

/** The same bytes, in one piece where they are few. */
export function gather(byteChunks: ByteChunks): ByteChunks {
  return byteChunks.length > 1 && byteLengthOf(byteChunks) <= JOINED_BYTES_MAX
    ? [Buffer.concat(byteChunks)]
    : byteChunks;
}

/** The same bytes in one piece. */
export function join(byteChunks: ByteChunks): Uint8Array {
  const [first] = byteChunks;
  return byteChunks.length === 1 && first !== undefined ? first : Buffer.concat(byteChunks);
}

/** The bytes from `from` to `to`, exclusive, of those there are. */
export function* cutBytes(byteChunks: ByteChunks, from: number, to: number): Generator<Uint8Array> {
  let start = 0;
  for (const piece of byteChunks) {
    const end = start + piece.byteLength;
    if (end > from && start < to) yield piece.subarray(Math.max(0, from - start), Math.min(end, to) - start);
    start = end;
  }
}
