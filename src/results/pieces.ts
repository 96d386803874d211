/** Bytes in one piece or several: what is large is not copied only to be in one. */
export type Pieces = readonly Uint8Array[];

/** Copying so many bytes costs less than sending them in pieces. */
const JOINED_BYTES_MAX = 1024 * 1024;

export function byteLengthOf(pieces: Pieces): number {
  return pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
}

/** The same bytes, in one piece where they are few. */
export function gathered(pieces: Pieces): Pieces {
  return pieces.length > 1 && byteLengthOf(pieces) <= JOINED_BYTES_MAX ? [Buffer.concat(pieces)] : pieces;
}

/** The same bytes in one piece. */
export function joined(pieces: Pieces): Uint8Array {
  const [first] = pieces;
  return pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces);
}

/** The bytes from `from` to `to`, exclusive, of those there are. */
export function* sliceOfPieces(pieces: Pieces, from: number, to: number): Generator<Uint8Array> {
  let start = 0;
  for (const piece of pieces) {
    const end = start + piece.byteLength;
    if (end > from && start < to) yield piece.subarray(Math.max(0, from - start), Math.min(end, to) - start);
    start = end;
  }
}
