/** Tells failures of PostgreSQL that may pass (it restarts, the network is down) from all others. */
import { CatalogUnavailable } from '../../errors/catalog-unavailable.ts';
import { TextRefused } from '../../errors/text-refused.ts';

/**
 * SQLSTATE: the server starts or stops; a lock, a statement or a transaction took too long; two transactions waited for each other; it is
 * a standby that takes no writes.
 */
const STATES: ReadonlySet<string> = new Set([
  '55P03',
  '57014',
  '57P01',
  '57P02',
  '57P03',
  '57P05',
  '25P03',
  '25P04',
  '40001',
  '40P01',
  '25006',
]);
/** Errors in the class 08 are those of connections, in the class 53 of resources: disk, memory, connections. */
const CLASSES = /^(?:08|53)/;
/** A character that PostgreSQL has no place for in texts, NUL, or bytes that are none. */
const NO_TEXT = '22021';
/** What Node says of sockets. */
const SOCKET = /^E(?:CONN|PIPE|HOST|NET|TIMEDOUT|AI_AGAIN|NOTFOUND)/;
/** Messages of the driver, which has no codes for these. */
const TEXT = /terminat|timeout|not queryable|Client was closed|ended/i;

export function isUnavailable(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isUnavailable);
  if (!(error instanceof Error)) return false;
  const { code } = error as { readonly code?: unknown };
  if (typeof code !== 'string') return TEXT.test(error.message);
  return STATES.has(code) || CLASSES.test(code) || SOCKET.test(code) || code === 'EAI_AGAIN';
}

/** The failure as callers are told it: CatalogUnavailable if it may pass, else as it is. */
export function asUnavailable(error: unknown): unknown {
  if ((error as { readonly code?: unknown } | undefined)?.code === NO_TEXT) {
    return new TextRefused('a text holds the character NUL, which the catalog cannot keep', { cause: error });
  }
  if (!isUnavailable(error)) return error;
  return new CatalogUnavailable('the catalog cannot be reached at the moment', { cause: error });
}
