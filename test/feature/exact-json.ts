/**
 * JSON compared without losing digits or the order of keys, as `JSON.parse` would. Numbers are compared by their exact value:
 * 5, 5.0 and 5e0 are the same (contract §6 leaves the form of doubles open), and 9007199254740993 is not its neighbour.
 */

const TOKENS = /"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/g;

/** The same JSON, with one form for each string and each number. */
export function canonicalJson(text: string): string {
  return text.replace(TOKENS, (token) =>
    token.startsWith('"') ? JSON.stringify(JSON.parse(token)) : canonicalNumber(token),
  );
}

/** A whole number's digits as they are; for a double, its shortest form. −0.0 is not 0.0. */
export function canonicalNumber(token: string): string {
  if (/^-?[0-9]+$/.test(token)) return token === '-0' ? '0' : token;
  const value = Number(token);
  if (Object.is(value, -0)) return '-0';
  return Number.isSafeInteger(value) ? String(value) : value.toExponential();
}

export type ExactValue = null | boolean | string | readonly ExactValue[] | { readonly [key: string]: ExactValue };

/** Strings (and keys) get an "s" in front; numbers become "n" and their canonical digits. */
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
