/** Names that are nearly what was written, for errors that suggest: `Did you mean "block_time"?` */

/** Longer texts are no misspelt names. */
const LENGTH_MAX = 100;
/**
 * The most work for all distances together; further candidates are left out. One distance takes time in the product of both lengths. So much
 * takes two milliseconds, or ten for the first time.
 */
const WORK_MAX = 250_000;
const SUGGESTIONS_MAX = 3;

/** At most three candidates near to `word`, nearest first: within a third of its length in edits, or containing it. */
export function nearest(word: string, candidates: Iterable<string>): readonly string[] {
  if (word === '' || word.length > LENGTH_MAX) return [];
  const folded = word.toLowerCase();
  const farthest = Math.max(1, Math.floor(folded.length / 3));
  const near: { readonly candidate: string; readonly distance: number }[] = [];
  let work = 0;
  for (const candidate of candidates) {
    if (candidate === '' || candidate.length > LENGTH_MAX) continue;
    const other = candidate.toLowerCase();
    const contained = folded.length >= 3 && (other.includes(folded) || (other.length >= 3 && folded.includes(other)));
    let distance = Number.POSITIVE_INFINITY;
    // No distance is less than the difference of the lengths.
    if (Math.abs(folded.length - other.length) <= farthest && work < WORK_MAX) {
      work += folded.length * other.length;
      distance = editDistance(folded, other);
    }
    if (distance <= farthest) near.push({ candidate, distance });
    else if (contained) near.push({ candidate, distance: farthest + 1 });
  }
  near.sort((a, b) => a.distance - b.distance);
  return near.slice(0, SUGGESTIONS_MAX).map(({ candidate }) => candidate);
}

/** The last three rows of the table of distances. They are used over and over: to make new ones would take most of the time. */
const ROWS = [new Uint8Array(LENGTH_MAX + 1), new Uint8Array(LENGTH_MAX + 1), new Uint8Array(LENGTH_MAX + 1)] as const;

/** Insertions, deletions, replacements and swaps of neighbours that turn one text into the other. @param b at most `LENGTH_MAX` long */
function editDistance(a: string, b: string): number {
  let [before, previous, current] = ROWS;
  for (let j = 0; j <= b.length; j += 1) previous[j] = j;
  for (let i = 1; i <= a.length; i += 1) {
    current[0] = i;
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let least = Math.min(replaced, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        least = Math.min(least, (before[j - 2] ?? 0) + 1);
      }
      current[j] = least;
    }
    [before, previous, current] = [previous, current, before];
  }
  return previous[b.length] ?? 0;
}
