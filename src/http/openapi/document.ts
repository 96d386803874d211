/**
 * The description of the whole API as an OpenAPI 3.1 document, made from the tables that the service itself works by: shared
 * parameters, errors, states, column types. What a table says is answered and described alike.
 */
import { VALUE_SCHEMAS } from './column-schema.ts';
import { rowSchemaOf, schemaNameOf } from './dataset-rows.ts';
import { datasetResultsSchema, ENVELOPE_SCHEMAS } from './envelope-schemas.ts';
import { FORMAT_SCHEMAS } from './other-formats.ts';
import { parameterComponents } from './parameters.ts';
import { HEADERS_ONLY } from './path-item.ts';
import { commonHeaders, headerComponents } from './response-headers.ts';
import { resultsPaths } from './results-operations.ts';
import type { DatasetDescription, Fragment } from './schema.ts';
import { servicePaths } from './service-paths.ts';
import { shareRepeated } from './share-repeated.ts';
import { USAGE_SCHEMAS, usagePaths } from './usage-operation.ts';
import { joinPaths, writingPaths } from './writing-operations.ts';
import { WRITING_SCHEMAS } from './writing-schemas.ts';

export interface ApiDescription {
  /** Of the service: `1.2.3`. */
  readonly version: string;
  /** Scheme and host under which clients reach the service. Undefined: where the document was read from. */
  readonly serverUrl: string | undefined;
  /** Headers that may carry the key, the first the service's own. */
  readonly keyHeaders: readonly string[];
  /** Prefixes of the paging headers. */
  readonly headerPrefixes: readonly string[];
  readonly datasets: readonly DatasetDescription[];
}

const ABOUT = `Stored results of query executions, as JSON, NDJSON, CSV or Parquet: filtered, sorted, paged or sampled.

**Key.** Every request under \`/v1\` carries an API key, in a header or as the query parameter \`api_key\`; the header wins.

**Paging.** A page has at most \`limit\` rows and ends at the datapoint limit at the latest. \`next_uri\`, and the header \`Link\`, is
the address of the next page; where it is absent, there is none. Pages of one execution join up exactly.

**Writing** takes a key of the scope \`write\`, \`/v1/users\`, \`/v1/teams\` and \`/v1/keys\` one of the scope \`admin\`. Under the same
\`Idempotency-Key\` a request is carried out once, and its answer given again for 24 hours.

**Errors.** Every answer that is not a success is \`{"error": "…"}\` and has a code in \`X-Error-Code\`. An unknown address, or a method
that does not fit, is 404 with the code \`route_not_found\`. Checks are made in this order: key, address, identifier,
existence and access, state, parameters, limits. Worth trying again are only 429, 503 and 504.

**Headers** that any answer may have stand under \`x-common-headers\`.

**Also** under \`/api/v1\`, identically. A trailing slash is accepted, unknown parameters are ignored, an empty parameter is as if absent.`;

const TAGS: readonly Fragment[] = [
  { name: 'Queries', description: 'Results by query: the latest run.' },
  { name: 'Executions', description: 'Results by execution: one run.' },
  { name: 'Datasets', description: 'Results of queries that the service runs itself.' },
  { name: 'Administration', description: 'Users, teams and keys, by keys that may administer.' },
  { name: 'Usage', description: 'What a key has used.' },
  { name: 'Service', description: 'About the service.' },
];

export function openApiDocument(description: ApiDescription): Fragment {
  const { version, serverUrl, keyHeaders, headerPrefixes, datasets } = description;
  const exampleUrl = serverUrl ?? 'http://localhost:8080';
  const { paths, responses, examples } = shareRepeated({
    ...joinPaths(resultsPaths({ headerPrefix: headerPrefixes[0] ?? '', exampleUrl, datasets }), writingPaths()),
    ...usagePaths(),
    ...servicePaths(serverUrl ?? '/'),
  });
  return {
    openapi: '3.1.0',
    info: { title: 'Query Results Service', version, description: ABOUT, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [
      { url: serverUrl ?? '/', description: 'The service' },
      { url: `${serverUrl ?? ''}/api`, description: 'The same, as clients of the hosted API address it' },
    ],
    security: [...keyHeaders, QUERY_KEY].map((name) => ({ [name]: [] })),
    tags: TAGS,
    'x-common-headers': commonHeaders(),
    paths,
    components: {
      securitySchemes: securitySchemes(keyHeaders),
      parameters: parameterComponents(),
      headers: headerComponents(headerPrefixes),
      responses: { HeadersOnly: HEADERS_ONLY, ...responses },
      examples,
      schemas: {
        ...ENVELOPE_SCHEMAS,
        ...VALUE_SCHEMAS,
        ...FORMAT_SCHEMAS,
        ...USAGE_SCHEMAS,
        ...WRITING_SCHEMAS,
        ...Object.assign({}, ...datasets.map(datasetSchemas)),
      },
    },
  };
}

const QUERY_KEY = 'api_key';

function securitySchemes(keyHeaders: readonly string[]): Fragment {
  return {
    ...Object.fromEntries(keyHeaders.map((name) => [name, { type: 'apiKey', in: 'header', name }])),
    [QUERY_KEY]: {
      type: 'apiKey',
      in: 'query',
      name: QUERY_KEY,
      description:
        'For what can send no headers, such as spreadsheets. Addresses get logged on their way: prefer a header.',
    },
  };
}

function datasetSchemas(dataset: DatasetDescription): Readonly<Record<string, Fragment>> {
  const name = schemaNameOf(dataset);
  return { [`${name}Row`]: rowSchemaOf(dataset), [`${name}Results`]: datasetResultsSchema(`${name}Row`) };
}
