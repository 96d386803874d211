/** Bytes in one or several arrays. Large arrays are never copied only to make one of them. */
export type ByteChunks = readonly Uint8Array[];

/** Up to this size, copying the arrays into one costs less than sending several. */
const JOINED_BYTES_MAX = 1024 * 1024;

export function byteLengthOf(byteChunks: ByteChunks): number {
  return byteChunks.reduce((sum, chunk) => sum + chunk.byteLength, 0);
}

/** The same bytes, in one array if they are few. */
export function gather(byteChunks: ByteChunks): ByteChunks {
  return byteChunks.length > 1 && byteLengthOf(byteChunks) <= JOINED_BYTES_MAX
    ? [Buffer.concat(byteChunks)]
    : byteChunks;
}

/** The same bytes in one array. */
export function join(byteChunks: ByteChunks): Uint8Array {
  const [first] = byteChunks;
  return byteChunks.length === 1 && first !== undefined ? first : Buffer.concat(byteChunks);
}

/** The bytes from `from` to `to` (exclusive), or as many of them as exist. */
export function* cutBytes(byteChunks: ByteChunks, from: number, to: number): Generator<Uint8Array> {
  let start = 0;
  for (const chunk of byteChunks) {
    const end = start + chunk.byteLength;
    if (end > from && start < to) yield chunk.subarray(Math.max(0, from - start), Math.min(end, to) - start);
    start = end;
  }
}
