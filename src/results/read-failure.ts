/** What a caller is told when a read failed in the store or for lack of memory. */
import { isOutOfMemory } from '../duckdb/duckdb.ts';
import { RequestError } from '../errors/errors.ts';
import { ObjectDamaged } from '../store/result-store.ts';

/** The error for the caller, if it is one of these; any other error is given back as it is. */
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
