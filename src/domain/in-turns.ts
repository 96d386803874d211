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

/** As `Promise.all` of what `work` makes of each, but those of the next turn begin when these have ended. @throws as the first that fails */
export async function allInTurns<T, U>(
  items: readonly T[],
  work: (item: T) => Promise<U>,
  inATurn: number,
): Promise<readonly U[]> {
  const done: U[] = [];
  for (let from = 0; from < items.length; from += inATurn) {
    if (from > 0) await letOthersRun();
    done.push(...(await Promise.all(items.slice(from, from + inATurn).map(work))));
  }
  return done;
}
