/**
 * Finished pages, by the identity of their bytes. Results are immutable, so a page never becomes stale; access and expiry are checked
 * before it is looked up.
 */
import { type ByteChunks, byteLengthOf } from '../read/byte-chunks.ts';
import type { LruBytes } from './lru-bytes.ts';
import type { RememberedNames } from './remembered-names.ts';

export interface FinishedPage {
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly etag: string;
  readonly byteChunks: ByteChunks;
  /** What the answer costs whoever asks for it, from memory or not. */
  readonly rowCount: number;
  readonly cellBytes: number;
  readonly datapoints: number;
}

export interface PageCaches {
  readonly pages: LruBytes<FinishedPage>;
  /** The larger pages that have been asked for, by their tags. */
  readonly asked: RememberedNames;
}

/**
 * Up to this size a page is kept at once. A larger one, which a walk asks for once and then never again, is kept when it is asked for a
 * second time. To use so much memory for the first time takes longer than to read the page from row files.
 */
export const KEPT_AT_ONCE_BYTES = 64 * 1024;

/** @returns whether the page is kept, so that others may get its bytes */
export function keepPage(
  { pages, asked }: Pick<PageCaches, 'pages' | 'asked'>,
  identity: string,
  page: FinishedPage,
): boolean {
  const isKept = byteLengthOf(page.byteChunks) <= KEPT_AT_ONCE_BYTES || asked.note(page.etag);
  if (isKept) pages.put(identity, page);
  return isKept;
}
