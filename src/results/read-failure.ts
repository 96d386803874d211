/** What a caller is told of a read that failed: by the store, or for want of memory. */
import { isOutOfMemory } from '../duckdb/duckdb.ts';
import { RequestError } from '../errors/errors.ts';
import { ObjectDamaged } from '../store/result-store.ts';

/** What a reader is told of a read that failed. */
export function readFailure(error: unknown): unknown {
  if (error instanceof ObjectDamaged) return damaged(error);
  if (!isOutOfMemory(error)) return error;
  const told = new RequestError(
    'overloaded',
    'there is not enough memory to read so wide rows in this way; name fewer columns, or fewer rows (limit)',
  );
  told.cause = error;
  return told;
}

/** A part that is missing, or is not what was stored. */
export function damaged(cause: ObjectDamaged): RequestError {
  const error = new RequestError(
    'result_damaged',
    'the stored result is damaged and cannot be read; run the query again',
  );
  error.cause = cause;
  return error;
}
