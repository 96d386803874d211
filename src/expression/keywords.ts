/** The words that mean something to the filter language, and which of them a bare column name can therefore not be. */

const RESERVED: ReadonlySet<string> = new Set([
  'and',
  'or',
  'not',
  'in',
  'like',
  'ilike',
  'between',
  'is',
  'null',
  'true',
  'false',
]);

/** `contains`, `escape` and the words of sort_by have a meaning only where no column name could stand. */
export function isReserved(word: string): boolean {
  return RESERVED.has(word.toLowerCase());
}
