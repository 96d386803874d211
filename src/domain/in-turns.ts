/** Work on many things, some in each turn of the event loop, so that what else is in flight goes on in between. */
import { letOthersRun } from './time.ts';

/** Of things that take some microseconds each. */
const IN_A_TURN = 250;

/** As `Array.map`. */
export async function mapInTurns<T, U>(
  items: readonly T[],
  map: (item: T, index: number) => U,
  inATurn = IN_A_TURN,
): Promise<readonly U[]> {
  const mapped: U[] = [];
  for (const [index, item] of items.entries()) {
    if (index > 0 && index % inATurn === 0) await letOthersRun();
    mapped.push(map(item, index));
  }
  return mapped;
}
