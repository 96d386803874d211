/**
 * The query string as browsers, spreadsheets and curl write it (contract §1): `+` and `%20` are blanks, and a percent sign
 * that starts no escape is itself, so that `filters=name like '%USDC%'` pasted into an address bar works.
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

const ESCAPES = /(?:%[0-9a-fA-F]{2})+/g;

/** Bytes that are not UTF-8 become U+FFFD, as a browser would show them. */
function decode(text: string): string {
  const blanks = text.replaceAll('+', ' ');
  if (!blanks.includes('%')) return blanks;
  try {
    return decodeURIComponent(blanks);
  } catch {
    // A stray percent sign, or bytes that are not UTF-8.
  }
  return blanks.replace(ESCAPES, (escapes) => Buffer.from(escapes.replaceAll('%', ''), 'hex').toString('utf8'));
}
