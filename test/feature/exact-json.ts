/**
 * JSON compared without losing digits or the order of keys: `JSON.parse` would do both. A number is known by its exact value, so
 * that 5, 5.0 and 5e0 are the same (contract §6 leaves the form of doubles open) and 9007199254740993 is not its neighbour.
 */

const TOKENS = /"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/g;

/** The same JSON, each string escaped and each number written in one way. */
export function canonicalJson(text: string): string {
  return text.replace(TOKENS, (token) =>
    token.startsWith('"') ? JSON.stringify(JSON.parse(token)) : canonicalNumber(token),
  );
}

/** Digits of a whole number as they stand; of what a double holds, the shortest form of that double. −0.0 is not 0.0. */
export function canonicalNumber(token: string): string {
  if (/^-?[0-9]+$/.test(token)) return token === '-0' ? '0' : token;
  const value = Number(token);
  if (Object.is(value, -0)) return '-0';
  return Number.isSafeInteger(value) ? String(value) : value.toExponential();
}

export type ExactValue = null | boolean | string | readonly ExactValue[] | { readonly [key: string]: ExactValue };

/** Strings (and keys) with an "s" before them, numbers as "n" and their canonical digits. */
export function parseExact(text: string): ExactValue {
  const marked = text.replace(TOKENS, (token) =>
    token.startsWith('"') ? JSON.stringify(`s${JSON.parse(token)}`) : `"n${canonicalNumber(token)}"`,
  );
  return JSON.parse(marked) as ExactValue;
}

/** The text between the brackets of `rows` in a JSON answer. */
export function rowsText(answer: string): string {
  const found = /"result":\{"rows":\[(.*)\],"metadata":/s.exec(answer)?.[1];
  if (found === undefined) throw new Error(`no rows in ${answer.slice(0, 300)}`);
  return found;
}
