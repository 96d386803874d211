/** What the columns of a query's results mean, in its owner's words, by their names. */
import { shortened } from './shortened.ts';

export type ColumnDescriptions = Readonly<Record<string, string>>;

/** What a query says of itself, beside its results. */
export interface QueryWords {
  readonly name?: string;
  readonly description?: string;
  readonly columnDescriptions?: ColumnDescriptions;
}

/** Characters of one description. */
export const DESCRIPTION_LENGTH_MAX = 1_000;
/** Characters of all names and descriptions of a query. */
const LENGTH_MAX = 100_000;

/** What is wrong with them, as a sentence without a subject; undefined where nothing is. */
export function descriptionsProblem(descriptions: ColumnDescriptions): string | undefined {
  let length = 0;
  for (const [name, text] of Object.entries(descriptions)) {
    if (name === '') return 'a column has no name';
    if (name.includes('\0') || text.includes('\0')) return 'a name or a description holds the character NUL';
    if (text.length > DESCRIPTION_LENGTH_MAX) {
      return `the description of ${JSON.stringify(shortened(name, 60))} has ${text.length} characters, and at most ${DESCRIPTION_LENGTH_MAX} are kept`;
    }
    length += name.length + text.length;
  }
  return length > LENGTH_MAX ? `all together have ${length} characters, and at most ${LENGTH_MAX} are kept` : undefined;
}

/** The descriptions after changes: an empty text takes one away. Undefined: none is left. */
export function changeDescriptions(
  before: ColumnDescriptions | undefined,
  changes: Iterable<readonly [string, string]>,
): ColumnDescriptions | undefined {
  const texts = new Map([...Object.entries(before ?? {}), ...changes].filter(([name]) => name !== ''));
  const kept = [...texts].filter(([, text]) => text !== '');
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

/** A column may be called as a member that every object has, such as `constructor`. */
export function descriptionOf(descriptions: ColumnDescriptions | undefined, name: string): string | undefined {
  return descriptions !== undefined && Object.hasOwn(descriptions, name) ? descriptions[name] : undefined;
}

export function isSameDescriptions(a: ColumnDescriptions | undefined, b: ColumnDescriptions | undefined): boolean {
  const [left, right] = [Object.entries(a ?? {}), b ?? {}];
  return left.length === Object.keys(right).length && left.every(([name, text]) => descriptionOf(right, name) === text);
}
