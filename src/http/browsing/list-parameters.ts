/** The parameters of lists, and the body of a page: some items, the total, the address of the next page. */
import type { ListPage, ListSlice } from '../../domain/browsing.ts';
import { type Instant, parseInstant } from '../../domain/instant.ts';
import { shortened } from '../../domain/shortened.ts';
import { RequestError } from '../../errors/errors.ts';
import { formatQueryString, parameterOf, type QueryParameters } from '../../results/request/query-string.ts';

/** How many items a page has. Where each takes some look-ups, they are few: the process does nothing else meanwhile. */
const PAGE = { default: 50, max: 200 };

/** @throws RequestError */
export function sliceOf(parameters: QueryParameters, page = PAGE): ListSlice {
  return {
    offset: wholeNumber(parameters, 'offset', Number.MAX_SAFE_INTEGER) ?? 0,
    limit: wholeNumber(parameters, 'limit', page.max) ?? page.default,
  };
}

/** @throws RequestError */
export function booleanOf(parameters: QueryParameters, name: string): boolean | undefined {
  const value = parameterOf(parameters, name);
  if (value === undefined) return undefined;
  if (/^(true|1)$/i.test(value)) return true;
  if (/^(false|0)$/i.test(value)) return false;
  throw invalid(name, value, 'true or false');
}

/** @throws RequestError */
export function instantOf(parameters: QueryParameters, name: string): Instant | undefined {
  const value = parameterOf(parameters, name);
  if (value === undefined) return undefined;
  const instant = parseInstant(value);
  if (instant === undefined) throw invalid(name, value, 'a time such as 2024-03-05 or 2024-03-05T20:50:59Z');
  return instant;
}

/**
 * The body of an answer.
 * @param name of the list in it
 * @param address of the list, without parameters
 */
export function listBody(
  name: string,
  { items, total }: ListPage<object>,
  { offset, limit }: ListSlice,
  parameters: QueryParameters,
  address: string,
): object {
  const next = offset + items.length;
  if (limit === 0 || next >= total) return { [name]: items, total };
  const given = [...parameters].filter(([parameter]) => parameter !== 'api_key');
  const onwards = new Map([...given, ['limit', [String(limit)]], ['offset', [String(next)]]] as const);
  return { [name]: items, total, next_offset: next, next_uri: `${address}?${formatQueryString(onwards)}` };
}

export function invalid(name: string, value: string, expected: string): RequestError {
  return new RequestError('invalid_parameter', `${name}: found "${shortened(value, 60)}", expected ${expected}`);
}

function wholeNumber(parameters: QueryParameters, name: string, max: number): number | undefined {
  const text = parameterOf(parameters, name);
  if (text === undefined) return undefined;
  if (/^[0-9]{1,16}$/.test(text) && Number(text) <= max) return Number(text);
  throw invalid(name, text, `a whole number, at most ${max}`);
}
