/** Bytes in one or several arrays. Large arrays are never copied only to make one of them. */
export type ByteChunks = readonly Uint8Array[];

export function byteLengthOf(byteChunks: ByteChunks): number {
  return byteChunks.reduce((sum, chunk) => sum + chunk.byteLength, 0);
}

/** The same bytes, in one array if they are at most so many. */
export function gather(byteChunks: ByteChunks, bytesMax: number): ByteChunks {
  return byteChunks.length > 1 && byteLengthOf(byteChunks) <= bytesMax ? [Buffer.concat(byteChunks)] : byteChunks;
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
