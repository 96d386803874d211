/** The Range header (RFC 9110): one range of bytes. Anything else is answered with the whole, as the RFC lets a server do. */
import { RequestError } from '../../errors/errors.ts';

export type ByteRange =
  /** `bytes=100-` or `bytes=100-199`; the last position is inclusive. */
  | { readonly kind: 'from'; readonly first: number; readonly last: number | undefined }
  /** `bytes=-100`: the last hundred. */
  | { readonly kind: 'suffix'; readonly length: number };

/** Byte positions, `to` exclusive. */
export interface ByteSlice {
  readonly from: number;
  readonly to: number;
}

export function parseRange(header: string | undefined): ByteRange | undefined {
  const match = /^bytes=(\d*)-(\d*)$/i.exec(header?.replaceAll(' ', '') ?? '');
  if (match === null) return undefined;
  // However long: a client that wants all there is may name the last byte that its own numbers can count, 9223372036854775807.
  const [, first = '', last = ''] = match;
  if (first === '') return last === '' ? undefined : { kind: 'suffix', length: Number(last) };
  if (last !== '' && Number(last) < Number(first)) return undefined;
  return { kind: 'from', first: Number(first), last: last === '' ? undefined : Number(last) };
}

/**
 * The part of an answer of so many bytes that is asked for.
 * @throws RequestError range_not_satisfiable when there is none of it
 */
export function resolveRange(range: ByteRange, bytes: number): ByteSlice {
  const from = range.kind === 'from' ? range.first : Math.max(0, bytes - range.length);
  const to = range.kind === 'from' && range.last !== undefined ? Math.min(bytes, range.last + 1) : bytes;
  if (from < to) return { from, to };
  throw new RequestError(
    'range_not_satisfiable',
    `Range: found a range that begins after the end, expected one within ${bytes} bytes`,
    {
      headers: { 'content-range': `bytes */${bytes}` },
    },
  );
}
