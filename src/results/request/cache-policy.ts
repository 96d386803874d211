/** How long HTTP caches may keep an answer, by what the address names: an execution, a query or a dataset. */
import type { Instant } from '../../domain/instant.ts';

export type CachePolicy =
  /** The address names an execution. */
  | { readonly kind: 'immutable' }
  /** The address names a query: ask again, each time. */
  | { readonly kind: 'revalidate' }
  /** The address names a dataset: the next refresh is due then, and the one before was due at `since`. */
  | { readonly kind: 'until'; readonly instant: Instant; readonly since: Instant };
