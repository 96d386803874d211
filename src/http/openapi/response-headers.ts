/** The headers of answers, beside those that all of HTTP has. */
import { ERRORS, type ErrorCode } from '../../errors/errors.ts';
import { type Fragment, refTo } from './schema.ts';

/** The headers of some answers. */
const OWN_HEADERS: Readonly<Record<string, Fragment>> = {
  'Content-Range': {
    description: 'Which bytes of how many.',
    schema: { type: 'string', pattern: '^bytes (\\d+-\\d+|\\*)/\\d+$' },
  },
  'Retry-After': {
    description: 'In how many seconds to try again: always with 429 and 503.',
    schema: { type: 'integer', minimum: 1 },
  },
  'Idempotency-Replayed': {
    description: 'The answer was given before, under the same `Idempotency-Key`; nothing was done now.',
    schema: { const: 'true' },
  },
};

/** The headers that any answer may have, beside those with a prefix. */
const COMMON_HEADERS: Readonly<Record<string, Fragment>> = {
  'Cache-Control': {
    description:
      'How long the answer may be kept: always `private`, since another key may see less, or `no-store`, as for every failure.',
    required: true,
    schema: { type: 'string' },
  },
  Link: {
    description:
      'The address of the next page, as `<…>; rel="next"`. Absent on the last, and where too long for headers.',
    schema: { type: 'string', pattern: '^<.+>; rel="next"$' },
  },
  'X-Request-Id': {
    description: 'The id of the request in the log: as the client gave it in the same header, or new.',
    schema: { type: 'string', pattern: '^[\\w.:+/=-]{1,128}$' },
  },
  'Server-Timing': {
    description:
      'How long each stage took until the answer began, in milliseconds. `plan;desc="…"` says how the rows of a filter or order were found.',
    schema: { type: 'string' },
  },
  'RateLimit-Policy': {
    description: 'How often the key may ask: `q` requests in `w` seconds. Absent where that is not limited.',
    schema: { type: 'string', pattern: '^"default";q=\\d+;w=\\d+$' },
  },
  RateLimit: {
    description: 'How many requests are left (`r`), and the seconds until there are more (`t`).',
    schema: { type: 'string', pattern: '^"default";r=\\d+;t=\\d+$' },
  },
  'Content-Disposition': {
    description: 'What to call the file: query, run and format. Of JSON `inline`, else `attachment`.',
    schema: { type: 'string' },
  },
  'Last-Modified': { description: 'When the execution ended.', schema: { type: 'string' } },
  ETag: {
    description:
      'Identifies the bytes of the answer; a weak one (`W/"…"`), of an answer that was compressed while it was read, those that it is decompressed to. Sent back in `If-None-Match`, it gives 304 while they are the same. Absent if the next answer may have others.',
    schema: { type: 'string', pattern: '^(W/)?"[^"]+"$' },
  },
  'Accept-Ranges': {
    description: '`bytes`: a broken download may be continued with `Range` and `If-Range`.',
    schema: { type: 'string', const: 'bytes' },
  },
  'Repr-Digest': {
    description:
      'SHA-256 of the whole answer (RFC 9530), where this or an earlier request had `Want-Repr-Digest: sha-256=1`.',
    schema: { type: 'string', pattern: '^sha-256=:[A-Za-z0-9+/=]{44}:$' },
  },
};

/** The service's own headers, by what follows the prefix. */
const PREFIXED_HEADERS: Readonly<Record<string, Fragment>> = {
  'Next-Offset': {
    description: 'The offset of the next page. Absent on the last.',
    schema: { type: 'integer', minimum: 1 },
  },
  'Next-Uri': {
    description: 'The address of the next page. Absent on the last, and where too long for headers.',
    schema: { type: 'string', format: 'uri' },
  },
  'Filtered-Row-Count': {
    description: 'How many rows of the result match `filters`, where known.',
    schema: { type: 'integer', minimum: 0 },
  },
  'Row-Count': {
    description: 'How many rows the answer has.',
    schema: { type: 'integer', minimum: 0 },
  },
  'Datapoint-Count': {
    description: 'What GET costs, where it is known before all is read. HEAD costs nothing.',
    schema: { type: 'integer', minimum: 0 },
  },
  'Skipped-Execution-Id': {
    description: 'The newest run with a result, of which parts are missing.',
    schema: { type: 'string' },
  },
};

/**
 * The document names a header under the service's own prefix alone; the names for clients of compatible services stand here.
 * @param prefixes of the service's own headers: `X-Service`, and those of compatible services
 */
export function headerComponents(prefixes: readonly string[]): Readonly<Record<string, Fragment>> {
  const [own = '', ...others] = prefixes;
  const prefixed = Object.entries(PREFIXED_HEADERS).map(([name, header]) => {
    const aliases = others.map((prefix) => `${prefix}-${name}`);
    return [`${own}-${name}`, { ...header, ...(aliases.length > 0 && { 'x-aliases': aliases }) }] as const;
  });
  return { ...OWN_HEADERS, ...COMMON_HEADERS, ...Object.fromEntries(prefixed) };
}

/** The names of the headers that any answer may have: said once, not in each response. @param prefix the service's own */
export function commonHeaders(prefix: string): readonly string[] {
  return [...Object.keys(COMMON_HEADERS), ...Object.keys(PREFIXED_HEADERS).map((name) => `${prefix}-${name}`)];
}

/** Of an answer to a request that changes something. */
export function writtenHeaders(): Fragment {
  return { 'Idempotency-Replayed': refTo('headers', 'Idempotency-Replayed') };
}

/** The headers of a failure that has one of these codes. */
export function errorHeaders(codes: readonly ErrorCode[]): Fragment {
  const isTemporary = codes.some((code) => 'retryAfterSeconds' in ERRORS[code]);
  return {
    'X-Error-Code': { required: true, schema: { ...refTo('schemas', 'ErrorCode'), enum: codes } },
    ...(codes.includes('range_not_satisfiable') && { 'Content-Range': refTo('headers', 'Content-Range') }),
    ...(isTemporary && { 'Retry-After': refTo('headers', 'Retry-After') }),
  };
}
