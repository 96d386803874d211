/** The endpoint that tells a caller what its key has used. */
import { errorResponses } from './error-responses.ts';
import { pathItem } from './path-item.ts';
import { neverKept } from './response-headers.ts';
import { type Fragment, refTo } from './schema.ts';

/** Every object of the answer has these. */
export const USAGE_SCHEMAS: Readonly<Record<string, Fragment>> = {
  UsageCounts: {
    type: 'object',
    properties: {
      requests: { type: 'integer', minimum: 0 },
      datapoints: { type: 'integer', minimum: 0 },
      bytes: { type: 'integer', minimum: 0, description: 'Of the bodies, as they were sent.' },
    },
    required: ['requests', 'datapoints', 'bytes'],
  },
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
      responses: { 200: usageResponse(), ...errorResponses('reading') },
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
          key: counted({ id: { type: 'string' } }),
          owner: { oneOf: [counted({ user: { type: 'string' } }), counted({ team: { type: 'string' } })] },
          days: { type: 'array', items: counted({ day: DAY }) },
          queries: {
            type: 'array',
            description: 'Without `query_id`: requests that met no query.',
            items: counted({ query_id: { type: 'integer', minimum: 1 } }, []),
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

/** @param required of what it counts for */
function counted(properties: Fragment, required: readonly string[] = Object.keys(properties)): Fragment {
  const counts = [refTo('schemas', 'UsageCounts')];
  return { type: 'object', properties, required, allOf: counts, unevaluatedProperties: false };
}

function dayParameter(name: string, description: string): Fragment {
  return { name, in: 'query', description, schema: DAY };
}
