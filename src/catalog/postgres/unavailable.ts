/** Tells failures of PostgreSQL that may pass (it restarts, the network is down) from all others. */
import { CatalogUnavailable } from '../../errors/catalog-unavailable.ts';
import { TextRefused } from '../../errors/text-refused.ts';

/** SQLSTATE: the database, or the session, takes no writes. */
const READ_ONLY = '25006';
/** SQLSTATE: all connections that the server allows are taken. */
const NO_CONNECTION_LEFT = '53300';

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
  READ_ONLY,
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

/** Whether the server refused a connection because others have all that it allows. */
export function isWithoutConnection(error: unknown): boolean {
  return codeOf(error) === NO_CONNECTION_LEFT;
}

/** Whether the catalog can be read, and not changed. */
export function isReadOnly(error: unknown): boolean {
  return codeOf(error instanceof CatalogUnavailable ? error.cause : error) === READ_ONLY;
}

function codeOf(error: unknown): unknown {
  return (error as { readonly code?: unknown } | undefined)?.code;
}

/** The failure as callers are told it: CatalogUnavailable if it may pass, else as it is. */
export function asUnavailable(error: unknown): unknown {
  if (codeOf(error) === NO_TEXT) {
    return new TextRefused('a text holds the character NUL, which the catalog cannot keep', { cause: error });
  }
  if (!isUnavailable(error)) return error;
  const problem = isReadOnly(error)
    ? 'the catalog takes no changes at the moment: its database is read-only'
    : 'the catalog cannot be reached at the moment';
  return new CatalogUnavailable(problem, { cause: error });
}
