/**
 * A text as messages show it: of a longer one its beginning and an ellipsis, and no half of a character.
 * @param charsMax UTF-16 code units
 */
export function shortened(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax).replace(HALF, '')}…`;
}

/** The first half of a character that takes two code units. */
const HALF = /[\ud800-\udbff]$/;
