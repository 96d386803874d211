/** What a caller is told when a read failed in the store or for lack of memory. */
import { isOutOfMemory } from '../duckdb/duckdb.ts';
import { RequestError } from '../errors/errors.ts';
import { isStorageFull } from '../errors/storage-full.ts';
import { WorkspaceUnavailable } from '../errors/workspace-unavailable.ts';
import { ObjectDamaged } from '../store/result-store.ts';

/** What DuckDB, or Node, says when the folder that a DuckDB spills into cannot be written to. It captures the folder. */
const SPILLED = /^(?:IO Error|E[A-Z]+): [^"']*["'](\/[^"']*\/spilled-[0-9A-Za-z]{6})(?![\s\S]*too many open files)/i;

/** The error for the caller, if it is one of these; any other error is given back as it is. */
export function readFailure(error: unknown): unknown {
  if (error instanceof ObjectDamaged) return damaged(error);
  if (!isOutOfMemory(error)) return unspillable(error) ?? error;
  return new RequestError(
    'overloaded',
    'there is not enough memory to read so wide rows in this way; name fewer columns, or fewer rows (limit)',
    { cause: error },
  );
}

function unspillable(error: unknown): WorkspaceUnavailable | undefined {
  const folder = error instanceof Error && !isStorageFull(error) ? SPILLED.exec(error.message)?.[1] : undefined;
  if (folder === undefined) return undefined;
  const advice = 'remove what is in the way of it, or give this user the right to write';
  const problem = `what does not fit into memory cannot be written to ${folder}: ${advice}`;
  return new WorkspaceUnavailable(problem, { cause: error });
}

/** A part that is missing, or is not what was stored. */
export function damaged(cause: ObjectDamaged): RequestError {
  return new RequestError('result_damaged', 'the stored result is damaged and cannot be read; run the query again', {
    cause,
  });
}
