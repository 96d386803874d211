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
 * Up to this size a page that DuckDB had to read is kept at once. A larger one, and one that row files alone had, is kept when it is asked for
 * a second time: a walk asks for each once and then never again. To use memory for the first time, and to have V8 find out that it is free
 * again, takes as long as to read the page from row files (decision 40).
 */
export const KEPT_AT_ONCE_BYTES = 64 * 1024;

/**
 * @param isLight row files alone had its rows, or what was encoded ahead
 * @returns whether the page is kept, so that others may get its bytes
 */
export function keepPage(
  { pages, asked }: Pick<PageCaches, 'pages' | 'asked'>,
  identity: string,
  page: FinishedPage,
  isLight: boolean,
): boolean {
  const isKeptAtOnce = !isLight && byteLengthOf(page.byteChunks) <= KEPT_AT_ONCE_BYTES;
  const isKept = isKeptAtOnce || asked.note(page.etag);
  if (isKept) pages.put(identity, page);
  return isKept;
}
