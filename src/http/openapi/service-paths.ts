/** The endpoints that are about the service itself. None needs a key, and none is repeated under `/api`. */
import { errorResponse } from './error-responses.ts';
import { type Operation, pathItem } from './path-item.ts';
import type { Fragment } from './schema.ts';

/** @param serverUrl where they are: the service's own address */
export function servicePaths(serverUrl: string): Readonly<Record<string, Fragment>> {
  return {
    '/': open(serverUrl, {
      operationId: 'getFrontPage',
      summary: 'What this is, and where to go on',
      description: 'A page for a browser, JSON for a program.',
      responses: {
        200: {
          description: 'Where the documentation is, and where a key comes from.',
          content: { 'application/json': { schema: { type: 'object' } }, 'text/html': { schema: { type: 'string' } } },
        },
      },
    }),
    '/llms.txt': open(serverUrl, {
      operationId: 'getLlmsText',
      summary: 'How to write requests, for language models',
      responses: {
        200: {
          description: 'Markdown.',
          content: { 'text/plain': { schema: { type: 'string' } } },
        },
      },
    }),
    '/healthz': open(serverUrl, {
      operationId: 'getHealth',
      summary: 'Whether the process is alive',
      responses: { 200: statusOf('ok') },
    }),
    '/readyz': open(serverUrl, {
      operationId: 'getReadiness',
      summary: 'Whether it can answer',
      description:
        'A write to the catalog commits, its schema is ours, the store is ours and writable, and the service is not stopping. Results with missing parts are counted.',
      responses: {
        200: statusOf('ready', { missing_results: { type: 'integer', minimum: 1 } }),
        503: errorResponse(['not_ready', 'shutting_down']),
      },
    }),
    '/metrics': open(serverUrl, {
      operationId: 'getMetrics',
      summary: 'Measurements of the service',
      responses: {
        200: {
          description: 'In the text format of Prometheus.',
          content: { 'text/plain': { schema: { type: 'string' } } },
        },
      },
    }),
    '/openapi.json': open(serverUrl, {
      operationId: 'getOpenApiDocument',
      summary: 'This description',
      responses: {
        200: {
          description: 'OpenAPI 3.1.',
          content: {
            'application/json': {
              schema: { type: 'object', properties: { openapi: { type: 'string' } }, required: ['openapi'] },
            },
          },
        },
      },
    }),
    '/docs': open(serverUrl, {
      operationId: 'getDocs',
      summary: 'This description as a page to read and to try requests on',
      responses: {
        200: {
          description: 'A page.',
          content: { 'text/html': { schema: { type: 'string' } } },
        },
      },
    }),
  };
}

function open(serverUrl: string, operation: Operation): Fragment {
  return pathItem({ tags: ['Service'], security: [], ...operation }, { servers: [{ url: serverUrl }] });
}

function statusOf(status: string, more: Fragment = {}): Fragment {
  return {
    description: 'It is.',
    content: {
      'application/json': {
        schema: {
          type: 'object',
          properties: { status: { const: status }, ...more },
          required: ['status'],
          additionalProperties: false,
        },
        example: { status },
      },
    },
  };
}
