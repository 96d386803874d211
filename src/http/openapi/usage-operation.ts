/** The endpoint that tells a caller what its key has used. */
import { errorResponses } from './error-responses.ts';
import { pathItem } from './path-item.ts';
import { neverKept } from './response-headers.ts';
import type { Fragment } from './schema.ts';

const COUNTS: Fragment = {
  requests: { type: 'integer', minimum: 0 },
  datapoints: { type: 'integer', minimum: 0 },
  bytes: { type: 'integer', minimum: 0, description: 'Of the bodies, as they were sent.' },
};
const DAY: Fragment = { type: 'string', format: 'date' };
const USED = { requests: 12, datapoints: 48_000, bytes: 310_220 };

const EXAMPLE: Fragment = {
  from: '2024-03-04',
  to: '2024-03-05',
  key: { id: '4tq9m2s0c1xk7v8d', ...USED },
  owner: { user: 'ann', requests: 20, datapoints: 90_000, bytes: 600_100 },
  days: [{ day: '2024-03-05', ...USED }],
  queries: [{ query_id: 1_215_383, ...USED }],
};

export function usagePaths(): Readonly<Record<string, Fragment>> {
  return {
    '/v1/usage': pathItem({
      operationId: 'getUsage',
      tags: ['Usage'],
      summary: 'What the key has used',
      description:
        'By day (UTC) and by query, beside the totals of all keys of the same owner. The newest requests appear some seconds after they were answered.',
      parameters: [
        dayParameter('from', 'The first day; 29 days before the last, when absent.'),
        dayParameter('to', 'The last day; today, when absent.'),
      ],
      responses: { 200: usageResponse(), ...errorResponses(['invalid_parameter']) },
    }),
  };
}

function usageResponse(): Fragment {
  return {
    description: 'Requests, datapoints and bytes.',
    headers: neverKept(),
    content: {
      'application/json': {
        schema: object({
          from: DAY,
          to: DAY,
          key: object({ id: { type: 'string' }, ...COUNTS }),
          owner: {
            oneOf: [object({ user: { type: 'string' }, ...COUNTS }), object({ team: { type: 'string' }, ...COUNTS })],
          },
          days: { type: 'array', items: object({ day: DAY, ...COUNTS }) },
          queries: {
            type: 'array',
            items: {
              type: 'object',
              description: 'Without `query_id`: requests that met no query.',
              properties: { query_id: { type: 'integer', minimum: 1 }, ...COUNTS },
              required: Object.keys(COUNTS),
              additionalProperties: false,
            },
          },
        }),
        example: EXAMPLE,
      },
    },
  };
}

function object(properties: Fragment): Fragment {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}

function dayParameter(name: string, description: string): Fragment {
  return { name, in: 'query', description, schema: DAY };
}
