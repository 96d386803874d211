/** Opens the files that a statement reads, such as the parts of a result, a few at a time: each may have to be fetched. */
import { readAhead } from './read-ahead.ts';

const OPENED_AHEAD = 1;

/** A local file, until it is disposed of. */
interface OpenFile extends AsyncDisposable {
  readonly path: string;
}

/**
 * @param held is given what was opened, also when something else could not be
 * @returns the paths, in the order of the items
 * @throws what `open` throws
 */
export async function openAll<T>(
  items: readonly T[],
  open: (item: T, signal: AbortSignal) => Promise<OpenFile>,
  held: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const openOne = async (item: T, during: AbortSignal) => held.use(await open(item, during)).path;
  const [first] = items;
  if (items.length === 1 && first !== undefined) return [await openOne(first, signal)];
  return await Array.fromAsync(readAhead(items, OPENED_AHEAD, openOne, signal));
}
