/**
 * The query string as browsers, spreadsheets and curl write it (contract §1): `+` and `%20` are blanks, and a percent sign
 * that starts no character is itself, so that `filters=name like '%USDC%'` pasted into an address bar works.
 */
import { RequestError } from '../../errors/errors.ts';

/** Names to values, in the order sent. A name may be sent more than once. */
export type QueryParameters = ReadonlyMap<string, readonly string[]>;

/** @param text what follows the question mark, without it */
export function parseQueryString(text: string): QueryParameters {
  const parameters = new Map<string, string[]>();
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decode(equals < 0 ? pair : pair.slice(0, equals));
    const value = equals < 0 ? '' : decode(pair.slice(equals + 1));
    const values = parameters.get(name);
    if (values === undefined) parameters.set(name, [value]);
    else values.push(value);
  }
  return parameters;
}

/**
 * The one value of a parameter. An empty value counts as absent (contract §1).
 * @throws RequestError when the parameter was sent with two different values: taking either would be a guess.
 */
export function parameterOf(parameters: QueryParameters, name: string): string | undefined {
  const values = new Set(parameters.get(name)?.filter((value) => value !== ''));
  if (values.size > 1) {
    throw new RequestError(
      'invalid_parameter',
      `${name}: sent ${values.size} times with different values, expected one`,
    );
  }
  return [...values][0];
}

/** The parameters again, names sorted, as a form would encode them; `next_uri` carries them (contract §2). */
export function formatQueryString(parameters: QueryParameters): string {
  const sorted = [...parameters].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return new URLSearchParams(
    sorted.flatMap(([name, values]) => values.map((value): [string, string] => [name, value])),
  ).toString();
}

/** One character in UTF-8: a byte below 80, or a first byte with as many more as it asks for. */
const CHARACTERS =
  /%[0-7][0-9a-f]|%[cd][0-9a-f]%[89ab][0-9a-f]|%e[0-9a-f](?:%[89ab][0-9a-f]){2}|%f[0-7](?:%[89ab][0-9a-f]){3}/gi;

/** A percent sign before bytes that are no UTF-8 is itself, too: in `name like '%DAO%'` nobody means the byte DA. */
function decode(text: string): string {
  const blanks = text.replaceAll('+', ' ');
  if (!blanks.includes('%')) return blanks;
  return decoded(blanks) ?? blanks.replace(CHARACTERS, (escapes) => decoded(escapes) ?? escapes);
}

/** Undefined: there is a stray percent sign, or there are bytes that are not UTF-8. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
