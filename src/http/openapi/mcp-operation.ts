/** The endpoint of the Model Context Protocol. Its tools describe themselves, to whoever asks it for `tools/list`. */
import { errorResponses } from './error-responses.ts';
import type { Fragment } from './schema.ts';

/** Of JSON-RPC 2.0. */
const VERSION: Fragment = { const: '2.0' };
const ID: Fragment = { type: ['string', 'number'] };

/** @param serverUrl where it is: the service's own address */
export function mcpPaths(serverUrl: string): Readonly<Record<string, Fragment>> {
  return {
    '/mcp': {
      servers: [{ url: serverUrl }],
      post: {
        operationId: 'sendMcpMessage',
        tags: ['Service'],
        summary: 'Read results by the Model Context Protocol',
        description:
          'One message of the protocol over streamable HTTP, without sessions and streams. Tools: search queries, describe one, read rows, compare two runs.',
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: {
                type: 'object',
                properties: { jsonrpc: VERSION, id: ID, method: { type: 'string' }, params: { type: 'object' } },
                required: ['jsonrpc'],
              },
              example: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
            },
          },
        },
        responses: {
          200: {
            description: 'The answer to a request.',
            content: {
              'application/json': {
                schema: {
                  type: 'object',
                  properties: { jsonrpc: VERSION, id: ID, result: { type: 'object' }, error: { type: 'object' } },
                  required: ['jsonrpc', 'id'],
                },
              },
            },
          },
          202: { description: 'A notification, which has no answer.' },
          ...errorResponses('messages'),
        },
      },
    },
  };
}
