/**
 * Finished pages, by the identity of their bytes, and what an address meant to a key. Results are immutable, so a page never becomes
 * stale; access and expiry are checked before it is looked up. What an address meant becomes stale when the catalog's version changes,
 * and when its execution expires.
 */
import type { Instant } from '../../domain/instant.ts';
import type { ByteChunks } from '../read/byte-chunks.ts';
import type { CatalogCache, Latest } from './catalog-cache.ts';
import type { LruBytes } from './lru-bytes.ts';

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

/** What an address meant to a key. */
export interface AddressEntry extends Latest {
  readonly catalogVersion: number | undefined;
  /** Of the finished page. */
  readonly identity: string;
  /** What to call the answer. */
  readonly fileHeaders: Readonly<Record<string, string>>;
}

export interface PageCaches {
  readonly pages: LruBytes<FinishedPage>;
  readonly addresses: LruBytes<AddressEntry>;
}

/** @param address undefined: one that is not remembered */
export function keepAddress(
  { addresses }: Pick<PageCaches, 'addresses'>,
  keyId: string,
  address: string | undefined,
  entry: AddressEntry,
): void {
  if (address !== undefined) addresses.put(`${keyId} ${address}`, entry);
}

/**
 * The page that the same key was given at the same address, if it is still the answer: nothing has been committed since to the
 * catalog, so that access is as it was, and the execution has not expired.
 */
export function findByAddress(
  { pages, addresses }: PageCaches,
  keyId: string,
  address: string | undefined,
  { version }: Pick<CatalogCache, 'version'>,
  now: Instant,
): { readonly page: FinishedPage; readonly entry: AddressEntry } | undefined {
  const entry = address === undefined ? undefined : addresses.get(`${keyId} ${address}`);
  if (entry === undefined || entry.catalogVersion !== version) return undefined;
  if (now >= (entry.execution.expiresAt ?? Number.POSITIVE_INFINITY)) return undefined;
  const page = pages.get(entry.identity);
  return page && { page, entry };
}
