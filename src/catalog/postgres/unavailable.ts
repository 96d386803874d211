/** Tells failures of PostgreSQL that may pass (it restarts, the network is down) from all others. */
import { CatalogUnavailable } from '../../errors/catalog-unavailable.ts';

/**
 * SQLSTATE: the server starts, stops or takes no more connections; a lock, a statement or a transaction took too long; two transactions
 * waited for each other; it is a standby that takes no writes.
 */
const STATES: ReadonlySet<string> = new Set([
  '53300',
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
/** Errors in the class 08 are those of connections. */
const CONNECTION = /^08/;
/** Codes that Node gives for sockets. */
const SOCKET = /^E(?:CONN|PIPE|HOST|NET|TIMEDOUT|AI_AGAIN|NOTFOUND)/;
/** Messages of the driver, which has no codes for these. */
const TEXT = /terminat|timeout|not queryable|Client was closed|ended/i;

export function isUnavailable(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isUnavailable);
  if (!(error instanceof Error)) return false;
  const { code } = error as { readonly code?: unknown };
  if (typeof code !== 'string') return TEXT.test(error.message);
  return STATES.has(code) || CONNECTION.test(code) || SOCKET.test(code) || code === 'EAI_AGAIN';
}

/** The failure as callers are told it: CatalogUnavailable if it may pass, else as it is. */
export function told(error: unknown): unknown {
  if (!isUnavailable(error)) return error;
  return new CatalogUnavailable('the catalog cannot be reached at the moment', { cause: error });
}
