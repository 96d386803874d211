/**
 * Compares answers with the OpenAPI document: address, method, status, content type, headers and body must be as described. Any
 * test that sees an answer of the service can pass it here.
 */
import assert from 'node:assert/strict';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

export interface SeenResponse {
  readonly method: string;
  /** A path, or an absolute address. */
  readonly url: string;
  readonly status: number;
  readonly headers: Iterable<readonly [string, string]>;
  /** Not compressed. */
  readonly body: string;
}

/** @throws AssertionError naming the request and everything that is not as described */
export type ValidateResponse = (seen: SeenResponse) => void;

type Fragment = Readonly<Record<string, unknown>>;

/** Headers that HTTP or the connection adds to any answer. Every other header must be described. */
const STANDARD_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-security-policy',
  'content-type',
  'date',
  'keep-alive',
  'referrer-policy',
  'transfer-encoding',
  'vary',
  'x-content-type-options',
]);

function schemasOf(document: Fragment): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formats.default(ajv);
  return ajv.addSchema(document, 'openapi');
}

/** @returns what is wrong with the body of a request, by the name of its schema */
export function requestProblems(document: Fragment, schema: string, body: unknown): readonly string[] {
  const validate = schemasOf(document).compile({ $ref: `openapi#/components/schemas/${schema}` });
  return validate(body) ? [] : (validate.errors ?? []).map((e) => `${e.instancePath}: ${e.message}`);
}

export function responseValidator(document: Fragment): ValidateResponse {
  const ajv = schemasOf(document);
  const compiled = new Map<string, ValidateFunction>();

  /** What is wrong with a value, by the schema at a place in the document. */
  const problemsWith = (place: readonly string[], value: unknown, what: string): readonly string[] => {
    const pointer = place.map((part) => `/${encodeURIComponent(escaped(part))}`).join('');
    const validate = compiled.get(pointer) ?? ajv.compile({ $ref: `openapi#${pointer}` });
    compiled.set(pointer, validate);
    return validate(value) ? [] : (validate.errors ?? []).map((e) => `${what}${e.instancePath}: ${e.message}`);
  };

  return (seen) => {
    const place = placeOf(document, seen);
    const problems =
      place === undefined ? unknownAddressProblems(seen) : described(document, place, seen, problemsWith);
    assert.deepEqual(
      problems,
      [],
      `${seen.method} ${seen.url} answered ${seen.status}, not as /openapi.json describes it`,
    );
  };
}

/** The answer that fetch gave, read to its end. */
export async function seenResponse(method: string, response: Response): Promise<SeenResponse> {
  const { url, status, headers } = response;
  return { method, url, status, headers, body: await response.text() };
}

type ProblemsWith = (place: readonly string[], value: unknown, what: string) => readonly string[];

function described(document: Fragment, operation: readonly string[], seen: SeenResponse, problemsWith: ProblemsWith) {
  const responses = [...operation, 'responses'];
  const exact = String(seen.status);
  const status = at(document, [...responses, exact]) === undefined ? 'default' : exact;
  const place = resolved(document, [...responses, status]);
  if (at(document, place) === undefined) return [`status ${seen.status}: not described`];
  return [
    ...headerProblems(
      document,
      [...place, 'headers'],
      new Headers([...seen.headers].map(([n, v]) => [n, v])),
      problemsWith,
    ),
    ...bodyProblems(document, place, seen, problemsWith),
  ];
}

function headerProblems(document: Fragment, place: readonly string[], found: Headers, problemsWith: ProblemsWith) {
  const own = new Map(Object.keys(at(document, place) ?? {}).map((name) => [name, [...place, name]]));
  const common = (document['x-common-headers'] as readonly string[]).map(
    (name) => [name, ['components', 'headers', name]] as const,
  );
  const places = new Map<string, readonly string[]>([...common, ...own]);
  for (const [, header] of [...places]) {
    const aliases = at(document, resolved(document, header))?.['x-aliases'] as readonly string[] | undefined;
    for (const alias of aliases ?? []) places.set(alias, header);
  }
  const declared = [...places.keys()];
  const known = new Set(declared.map((name) => name.toLowerCase()));
  const unknown = [...found.keys()].filter((name) => !known.has(name) && !STANDARD_HEADERS.has(name));
  return [
    ...unknown.map((name) => `header ${name}: not described`),
    ...declared.flatMap((name) => {
      const header = resolved(document, places.get(name) ?? []);
      const text = found.get(name);
      if (text === null) return at(document, header)?.required === true ? [`header ${name}: missing`] : [];
      const isInteger = at(document, [...header, 'schema'])?.type === 'integer';
      return problemsWith([...header, 'schema'], isInteger ? Number(text) : text, `header ${name}`);
    }),
  ];
}

function bodyProblems(document: Fragment, place: readonly string[], seen: SeenResponse, problemsWith: ProblemsWith) {
  if (seen.method === 'HEAD') return seen.body === '' ? [] : ['body: HEAD has none'];
  const content = at(document, [...place, 'content']);
  if (content === undefined) return seen.body === '' ? [] : ['body: there is one, and none is described'];
  const contentType = new Headers([...seen.headers].map(([n, v]) => [n, v])).get('content-type') ?? '';
  const mediaType = contentType.split(';')[0]?.trim() ?? '';
  if (content['*/*'] !== undefined) return [];
  if (content[mediaType] === undefined) return [`content type "${contentType}": not described`];
  const value: unknown = mediaType === 'application/json' ? JSON.parse(seen.body) : seen.body;
  return problemsWith([...place, 'content', mediaType, 'schema'], value, 'body');
}

/** An address or method that the document does not have must be refused. */
function unknownAddressProblems({ status, headers }: SeenResponse): readonly string[] {
  const code = new Headers([...headers].map(([n, v]) => [n, v])).get('x-error-code');
  const isRefusal = code === 'route_not_found' || code === 'invalid_api_key' || code === 'bad_request';
  return isRefusal ? [] : [`neither address nor method are described, and the answer is ${status} ${code ?? ''}`];
}

/** Where in the document the operation of a request is. */
function placeOf(document: Fragment, { method, url }: SeenResponse): readonly string[] | undefined {
  const { pathname } = new URL(url, 'http://localhost');
  // The document says it with a second server: everything below /v1 is below /api/v1 too.
  const path = pathname.replace(/^\/api\/v1\//, '/v1/').replace(/(?<=.)\/$/, '');
  const template = Object.keys(at(document, ['paths']) ?? {}).find((known) =>
    new RegExp(`^${known.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
  );
  if (template === undefined) return undefined;
  // Of HEAD the introduction says that it answers as GET does.
  const place = ['paths', template, method === 'HEAD' ? 'get' : method.toLowerCase()];
  return at(document, place) === undefined ? undefined : place;
}

/** The place that a reference at this place leads to, or the place itself. */
function resolved(document: Fragment, place: readonly string[]): readonly string[] {
  const reference = at(document, place)?.$ref;
  return typeof reference === 'string' ? reference.slice('#/'.length).split('/') : place;
}

function at(document: Fragment, place: readonly string[]): Fragment | undefined {
  let found: unknown = document;
  for (const part of place) found = (found as Fragment | undefined)?.[part];
  return found as Fragment | undefined;
}

function escaped(part: string): string {
  return part.replaceAll('~', '~0').replaceAll('/', '~1');
}
