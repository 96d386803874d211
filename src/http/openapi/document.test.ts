import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validate, validatePathParameters } from '@scalar/openapi-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import * as declared from '../../datasets/declared.ts';
import { ERRORS, type ErrorCode } from '../../errors/errors.ts';
import { openApiDocument } from './document.ts';
import { errorExample } from './error-examples.ts';

const datasets = Object.values(declared).flatMap((declare) => [declare({ strategyColumnNames: 'number' })]);
const document = openApiDocument({
  version: '1.2.3',
  serverUrl: 'https://results.example.org',
  keyHeaders: ['X-Service-Api-Key', 'X-Dune-Api-Key'],
  headerPrefixes: ['X-Service', 'X-Dune'],
  datasets,
});

type Node = Readonly<Record<string, unknown>>;

/** Every object in the document, with its place. */
function* nodes(value: unknown, place = '#'): Generator<readonly [string, Node]> {
  if (typeof value !== 'object' || value === null) return;
  yield [place, value as Node];
  for (const [name, child] of Object.entries(value)) {
    yield* nodes(child, `${place}/${encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))}`);
  }
}

function resolve(place: string): unknown {
  const parts = place
    .split('/')
    .slice(1)
    .map((part) => decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'));
  return parts.reduce<unknown>((found, part) => (found as Node | undefined)?.[part], document);
}

/** The object that a reference leads to, or the object itself. */
function followed(node: Node): Node {
  return typeof node.$ref === 'string' ? (resolve(node.$ref) as Node) : node;
}

/** The responses to failures, each with its place. */
const failures = [...nodes(document)].flatMap(([place, node]) => {
  const headers = node.headers as Readonly<Record<string, Node>> | undefined;
  const codes = (headers?.['X-Error-Code']?.schema as { readonly enum: readonly ErrorCode[] } | undefined)?.enum;
  return codes === undefined ? [] : [{ place, codes }];
});

const operations = [...nodes(document.paths)].filter(([, node]) => typeof node.operationId === 'string');

test('it is a valid OpenAPI 3.1 document', () => {
  const { valid, version, errors } = validate({ ...document });
  assert.deepEqual({ valid, version, errors }, { valid: true, version: '3.1', errors: [] });
});

test('every path names the parameters of its template', () => {
  const dereferenced = JSON.parse(JSON.stringify(document), (_, value) =>
    typeof value?.$ref === 'string' && value.$ref.includes('/parameters/') ? resolve(value.$ref) : value,
  );
  assert.deepEqual(validatePathParameters(dereferenced), []);
});

test('every reference leads somewhere, and every component is referred to', () => {
  const references = new Set<string>();
  for (const [, node] of nodes(document)) if (typeof node.$ref === 'string') references.add(node.$ref);
  for (const name of document['x-common-headers'] as readonly string[]) references.add(`#/components/headers/${name}`);
  assert.deepEqual(
    [...references].filter((reference) => resolve(reference) === undefined),
    [],
  );
  const { securitySchemes: _, ...components } = document.components as Readonly<Record<string, Node>>;
  const unused = Object.entries(components).flatMap(([section, named]) =>
    Object.keys(named)
      .map((name) => `#/components/${section}/${name}`)
      .filter((place) => !references.has(place)),
  );
  assert.deepEqual(unused, []);
});

test('schemas are valid JSON Schema 2020-12', () => {
  const ajv = new Ajv2020({
    strict: true,
    strictTypes: false,
    strictRequired: false,
    formats: { int32: true, int64: true },
  });
  formats.default(ajv);
  ajv.addVocabulary([
    'example',
    'components',
    'openapi',
    'paths',
    'info',
    'servers',
    'security',
    'tags',
    'x-common-headers',
  ]);
  ajv.addSchema(document, 'openapi');
  for (const name of Object.keys((document.components as { readonly schemas: Node }).schemas)) {
    ajv.compile({ $ref: `openapi#/components/schemas/${name}` });
  }
});

test('what several operations answer alike is written once', () => {
  const responses = operations.flatMap(([, operation]) =>
    Object.values(operation.responses as Readonly<Record<string, Node>>),
  );
  const written = responses.map((response) => JSON.stringify(response)).filter((text) => !text.startsWith('{"$ref"'));
  assert.equal(new Set(written).size, written.length);
  const repeated = Object.entries(Object.groupBy(large(document), ([, text]) => text))
    .map(([text, places = []]) => `${text.length} characters at ${places.map(([place]) => place).join(', ')}`)
    .filter((found) => found.includes(', '));
  assert.deepEqual(repeated, []);
});

test('an operation takes a small part of the document: what it shares with others is referred to', () => {
  const sizes = Object.entries(document.paths as Readonly<Record<string, Node>>).map(
    ([path, { parameters: _, ...item }]) => [path, JSON.stringify(item).length / Object.keys(item).length] as const,
  );
  assert.deepEqual(
    sizes.filter(([, size]) => size > 1600),
    [],
  );
  const total = Buffer.byteLength(JSON.stringify(document));
  // With all that is shared: a new operation may bring as much as those that there are, and no more.
  assert.ok(total < 2000 * operations.length, `${total} bytes for ${operations.length} operations`);
});

/** The objects that take more than 250 characters, references apart. */
function large(value: unknown): readonly (readonly [string, string])[] {
  return [...nodes(value)]
    .map(([place, node]) => [place, JSON.stringify(node)] as const)
    .filter(([, text]) => text.replaceAll(/("[^"]+":)?\{"\$ref":"[^"]+"\},?/g, '').length > 250);
}

test('operation ids are unique, and every operation has a summary and a tag that is described', () => {
  const ids = operations.map(([, operation]) => operation.operationId);
  assert.equal(new Set(ids).size, ids.length);
  const tags = (document.tags as readonly { readonly name: string }[]).map(({ name }) => name);
  for (const [, operation] of operations) {
    assert.equal(typeof operation.summary, 'string');
    assert.ok((operation.tags as readonly string[]).every((tag) => tags.includes(tag)));
  }
});

test('examples are as their schemas say', () => {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formats.default(ajv);
  ajv.addSchema(document, 'openapi');
  let count = 0;
  const check = (schemaPlace: string, value: unknown, where: string) => {
    const validator = ajv.compile({ $ref: `openapi${schemaPlace}` });
    assert.ok(validator(value), `${where}: ${ajv.errorsText(validator.errors)}`);
    count += 1;
  };
  for (const [place, node] of nodes(document)) {
    if (place.startsWith('#/components/schemas/') && Array.isArray(node.examples)) {
      for (const example of node.examples) check(place, example, place);
    }
    if (node.schema === undefined) continue;
    if (node.example !== undefined) check(`${place}/schema`, node.example, place);
    for (const [name, example] of Object.entries((node.examples ?? {}) as Readonly<Record<string, Node>>)) {
      check(`${place}/schema`, followed(example).value, `${place} ${name}`);
    }
  }
  assert.ok(count > 15, `only ${count} examples were checked`);
  for (const { place, codes } of failures) {
    const schema = `${place}/content/${encodeURIComponent('application~1json')}/schema`;
    for (const code of codes) check(schema, errorExample(code).body, `the example of ${code} at ${place}`);
  }
});

test('every error has a meaning, and some operation that is answered with it', () => {
  const { description } = resolve('#/components/schemas/ErrorCode') as { readonly description: string };
  const found = new Set<string>(failures.flatMap(({ codes }) => codes));
  for (const [code, { status, when }] of Object.entries(ERRORS)) {
    assert.ok(description.includes(`- \`${code}\`, ${status}: ${when}`), code);
    // The one error that is of no operation: the document's introduction tells of it.
    if (code !== 'route_not_found') assert.ok(found.has(code), `no operation is answered with ${code}`);
  }
});

test('every column of every dataset has a meaning', () => {
  for (const strategyColumnNames of ['number', 'token'] as const) {
    for (const declare of Object.values(declared)) {
      const { name, columns, meanings } = declare({ strategyColumnNames });
      const unknown = columns.filter((column) => meanings[column.name] === undefined);
      assert.deepEqual(unknown, [], `of ${name}`);
    }
  }
});

test('without a public address the servers are relative to the document', () => {
  const relative = openApiDocument({
    version: '1',
    serverUrl: undefined,
    keyHeaders: ['X-Service-Api-Key'],
    headerPrefixes: ['X-Service'],
    datasets: [],
  });
  assert.deepEqual(
    (relative.servers as readonly { readonly url: string }[]).map(({ url }) => url),
    ['/', '/api'],
  );
  assert.deepEqual(
    (document.servers as readonly { readonly url: string }[]).map(({ url }) => url),
    ['https://results.example.org', 'https://results.example.org/api'],
  );
});

test('an address that ends in /csv has no choice of format', () => {
  const results = Object.entries(document.paths as Node).filter(([path]) => /\/results(\/csv)?$/.test(path));
  assert.equal(results.length, 6);
  for (const [path, item] of results) {
    const places = [...nodes(item)].filter(([, { $ref }]) => $ref === '#/components/parameters/format');
    assert.equal(places.length > 0, !path.endsWith('/csv'), path);
  }
});
