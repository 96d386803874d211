/** The store cannot be asked at the moment, after all retries. */
export class StoreUnavailable extends Error {
  override readonly name: string = 'StoreUnavailable';
}

/**
 * The error with why the store cannot be asked, as far as that is known: for those who operate the service. Callers of it are told that the
 * store is away, and no more.
 */
export function withReason(error: unknown): unknown {
  const away = error instanceof Error && error.cause instanceof StoreUnavailable ? error.cause : error;
  if (!(error instanceof Error) || !(away instanceof StoreUnavailable) || !(away.cause instanceof Error)) return error;
  if (error.message.endsWith(away.cause.message)) return error;
  return new StoreUnavailable(`${error.message}: ${away.cause.message}`, { cause: away.cause });
}
