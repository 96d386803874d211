/**
 * A number in a JSON body that a double cannot hold, such as an id of 20 digits, kept as it was sent. A field that reads numbers as text gets
 * every digit. A field that needs a number refuses it.
 */

export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }
}

/** Whether a value of a body was sent as a number, of however many digits: `String` of it has them all. */
export function isNumber(value: unknown): value is number | ExactNumber {
  return typeof value === 'number' || value instanceof ExactNumber;
}

type Reviver = (name: string, value: unknown, context?: { readonly source?: string }) => unknown;

/** Fewer digits, without an exponent, are always held. */
const MAY_BE_BEYOND = /[0-9][0-9.]{15}|[0-9]e/i;

/** `JSON.parse`, but a number that a double cannot hold is an ExactNumber. @throws SyntaxError */
export function parseKeepingDigits(text: string): unknown {
  // A reviver makes parsing ten times as long.
  return MAY_BE_BEYOND.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text);
}

const keepDigits: Reviver = (_name, value, context) => {
  const source = context?.source;
  if (typeof value !== 'number' || source === undefined || sameValue(source, String(value))) return value;
  return new ExactNumber(source);
};

/** No double needs a longer text, except for zeros without meaning. */
const LENGTH_MAX = 40;

function sameValue(source: string, text: string): boolean {
  return source === text || (source.length <= LENGTH_MAX && canonical(source) === canonical(text));
}

/** The same for `1.50`, `15e-1` and `1.5`. */
function canonical(number: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)([0-9]+)(?:\.([0-9]+))?(?:e([+-]?[0-9]+))?$/i.exec(number) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return whole === '' ? number : '0';
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}
