/**
 * The description of the whole API as an OpenAPI 3.1 document, made from the tables that the service itself works by: shared
 * parameters, errors, states, column types. What a table says is answered and described alike.
 */
import { ABOUT } from './about.ts';
import { BROWSING_SCHEMAS, browsingPaths } from './browsing-operations.ts';
import { VALUE_SCHEMAS } from './column-schema.ts';
import { rowSchemaOf, schemaNameOf } from './dataset-rows.ts';
import { datasetResultsSchema, ENVELOPE_SCHEMAS } from './envelope-schemas.ts';
import { ERROR_SCHEMAS } from './error-responses.ts';
import { mcpPaths } from './mcp-operation.ts';
import { FORMAT_SCHEMAS } from './other-formats.ts';
import { parameterComponents } from './parameters.ts';
import { commonHeaders, headerComponents } from './response-headers.ts';
import { resultsPaths } from './results-operations.ts';
import type { DatasetDescription, Fragment } from './schema.ts';
import { servicePaths } from './service-paths.ts';
import { shareRepeated } from './share-repeated.ts';
import { SHARING_SCHEMAS, sharingPaths } from './sharing-operations.ts';
import { USAGE_SCHEMAS, usagePaths } from './usage-operation.ts';
import { WEBHOOK_SCHEMAS, webhookPaths } from './webhook-operations.ts';
import { joinPaths, REQUEST_BODIES, writingPaths } from './writing-operations.ts';
import { LIST_SCHEMAS, WRITING_SCHEMAS } from './writing-schemas.ts';

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

const TAGS: readonly Fragment[] = [
  { name: 'Queries', description: 'Results by query: the latest run.' },
  { name: 'Executions', description: 'Results by execution: one run.' },
  { name: 'Datasets', description: 'Results of queries that the service runs itself.' },
  { name: 'Shares', description: 'Results for whoever has an address, without a key.' },
  { name: 'Webhooks', description: 'Addresses that are told when runs end and datasets become stale.' },
  { name: 'Administration', description: 'Users, teams and keys, by keys that may administer.' },
  { name: 'Usage', description: 'What a key has used.' },
  { name: 'Service', description: 'About the service.' },
];

export function openApiDocument(description: ApiDescription): Fragment {
  const { version, serverUrl, keyHeaders, headerPrefixes, datasets } = description;
  const exampleUrl = serverUrl ?? 'http://localhost:8080';
  const { paths, responses } = shareRepeated({
    ...joinPaths({ ...resultsPaths({ exampleUrl, datasets }), ...browsingPaths() }, writingPaths()),
    ...sharingPaths(),
    ...webhookPaths(),
    ...usagePaths(),
    ...mcpPaths(serverUrl ?? '/'),
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
    'x-common-headers': commonHeaders(headerPrefixes[0] ?? ''),
    paths,
    components: {
      securitySchemes: securitySchemes(keyHeaders),
      parameters: parameterComponents(),
      headers: headerComponents(headerPrefixes),
      requestBodies: REQUEST_BODIES,
      responses,
      schemas: {
        ...ENVELOPE_SCHEMAS,
        ...ERROR_SCHEMAS,
        ...LIST_SCHEMAS,
        ...VALUE_SCHEMAS,
        ...FORMAT_SCHEMAS,
        ...USAGE_SCHEMAS,
        ...BROWSING_SCHEMAS,
        ...WRITING_SCHEMAS,
        ...SHARING_SCHEMAS,
        ...WEBHOOK_SCHEMAS,
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
