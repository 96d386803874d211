/** The kinds of value that a setting can have: how each is read from text, and what it says it expects. */
import { CronError, checkCron } from '../domain/cron.ts';

/** A text that cannot be the value of its setting. The message completes "QRS_X is "…": ". */
export class BadValue extends Error {}

/** Reads a value from trimmed text. @throws BadValue saying what is expected */
export type ReadValue<T> = (text: string) => T;

/** Nothing but the empty text is the absence of a value. */
export function optional<T>(read: ReadValue<T>): ReadValue<T | undefined> {
  return (text) => (text === '' ? undefined : read(text));
}

/** Of the settings that are paths, in characters. */
export const PATH_LENGTH_MAX = 4096;

export function text(lengthMax: number): ReadValue<string> {
  return (value) => {
    if (value === '' || value.length > lengthMax) throw new BadValue(`expected 1 to ${lengthMax} characters`);
    return value;
  };
}

/** Sent in a header. What else is in it would be told by whoever sends it, with the key. */
export function keyText(lengthMax: number): ReadValue<string> {
  return (value) => {
    if (/^[!-~]+$/.test(value) && value.length <= lengthMax) return value;
    throw new BadValue(`expected a key as it was printed: 1 to ${lengthMax} letters and digits, without quotes`);
  };
}

export function integer(min: number, max: number): ReadValue<number> {
  return (value) => {
    const digits = value.replaceAll('_', '');
    const number = /^\d{1,16}$/.test(digits) ? Number(digits) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw new BadValue(`expected a whole number from ${min} to ${max}`);
  };
}

/** A positive number, perhaps with a fraction. */
export function decimal(max: number): ReadValue<number> {
  return (value) => {
    const number = /^\d{1,16}(\.\d{1,16})?$/.test(value) ? Number(value) : Number.NaN;
    if (number > 0 && number <= max) return number;
    throw new BadValue(`expected a number greater than 0, at most ${max}`);
  };
}

export function boolean(): ReadValue<boolean> {
  return (value) => {
    switch (value.toLowerCase()) {
      case 'true':
      case '1':
        return true;
      case 'false':
      case '0':
        return false;
      default:
        throw new BadValue('expected true or false');
    }
  };
}

export function oneOf<T extends string>(...choices: readonly T[]): ReadValue<T> {
  return (value) => {
    const choice = choices.find((known) => known === value.toLowerCase());
    if (choice !== undefined) return choice;
    throw new BadValue(`expected ${choices.length === 1 ? '' : 'one of '}${choices.join(', ')}`);
  };
}

/** The first kind that takes the text. */
export function either<A, B>(first: ReadValue<A>, second: ReadValue<B>): ReadValue<A | B> {
  return (value) => {
    try {
      return first(value);
    } catch (notFirst) {
      if (!(notFirst instanceof BadValue)) throw notFirst;
      try {
        return second(value);
      } catch (notSecond) {
        if (!(notSecond instanceof BadValue)) throw notSecond;
        throw new BadValue(`${notFirst.message}, or ${notSecond.message.replace(/^expected /, '')}`);
      }
    }
  };
}

const UNIT_BYTES: Readonly<Record<string, number>> = {
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
};

/** A number of bytes: `512MB`, `1.5 GiB`, `8_000_000_000`. */
export function size(min: number, minText: string): ReadValue<number> {
  return (value) => {
    const [, digits = '', unit = ''] = /^(\d[\d_]*(?:\.\d+)?) *([a-z]*)$/i.exec(value) ?? [];
    const bytes = Math.round(
      Number(digits.replaceAll('_', '')) * (UNIT_BYTES[unit.toLowerCase() || 'b'] ?? Number.NaN),
    );
    if (digits !== '' && bytes >= min && Number.isSafeInteger(bytes)) return bytes;
    throw new BadValue(`expected a size of at least ${minText}, such as 512MB, 2GB or 4GiB`);
  };
}

const UNIT_MILLIS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** A length of time, in milliseconds: `60` and `60s` are seconds, and `500ms`, `5m`, `1h`. */
export function duration(minMillis: number, maxMillis: number): ReadValue<number> {
  return (value) => {
    const [, digits = '', unit = ''] = /^(\d+(?:\.\d+)?) *(ms|s|m|h)?$/i.exec(value) ?? [];
    const millis = Math.round(Number(digits) * (UNIT_MILLIS[unit.toLowerCase() || 's'] ?? Number.NaN));
    if (digits !== '' && millis >= minMillis && millis <= maxMillis) return millis;
    throw new BadValue(
      `expected a time from ${minMillis / 1000}s to ${maxMillis / 1000}s, such as 30 (seconds), 500ms, 30s or 5m`,
    );
  };
}

/** A cron expression, as text. */
export function cronExpression(): ReadValue<string> {
  return (value) => {
    try {
      checkCron(value);
      return value;
    } catch (error) {
      throw error instanceof CronError ? new BadValue(error.message) : error;
    }
  };
}

/** A name that can stand anywhere as it is: letters, digits, `.`, `-`, `_`. */
export function plainName(): ReadValue<string> {
  return (value) => {
    if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(value)) return value;
    throw new BadValue('expected at most 64 letters, digits, dots, dashes and underscores, such as web-1');
  };
}

/** HTTP header names, or their beginnings, separated by commas. */
export function headerNames(): ReadValue<readonly string[]> {
  return (value) => {
    const names = value.split(',').flatMap((name) => name.trim() || []);
    const bad = names.find((name) => !/^[A-Za-z0-9][A-Za-z0-9-]{0,63}$/.test(name));
    if (bad !== undefined) throw new BadValue('expected header names separated by commas, such as X-Service, X-Other');
    return [...new Set(names)];
  };
}

/** Where clients reach the service: an address to which it adds `/v1` itself. */
export function serviceUrl(): ReadValue<string> {
  const read = httpUrl();
  return (value) => {
    const url = read(value);
    const base = url.replace(/(?:\/api)?\/v1$/, '');
    if (base === url) return url;
    throw new BadValue(`expected an address without /v1, which is added to it: ${base}`);
  };
}

/** An http or https address without query and fragment, given back without a slash at its end. */
export function httpUrl(): ReadValue<string> {
  return (value) => {
    const url = URL.canParse(value) ? new URL(value) : undefined;
    const plain =
      url !== undefined && url.search === '' && url.hash === '' && url.username === '' && url.password === '';
    if (!plain || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
      throw new BadValue('expected an address such as https://results.example.com');
    }
    return url.href.replace(/\/+$/, '');
  };
}
