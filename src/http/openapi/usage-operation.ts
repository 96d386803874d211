/** The endpoint that tells a caller what its key has used. */
import { errorResponses } from './error-responses.ts';
import { pathItem } from './path-item.ts';
import { extended, type Fragment, object, TEXT } from './schema.ts';

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

const COUNTS = 'UsageCounts';
const DAY: Fragment = { type: 'string', format: 'date' };

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
    content: {
      'application/json': {
        schema: object({
          from: DAY,
          to: DAY,
          key: extended(COUNTS, { id: TEXT }),
          owner: {
            ...extended(COUNTS, { user: TEXT, team: TEXT }, ['user', 'team']),
            oneOf: [{ required: ['user'] }, { required: ['team'] }],
          },
          days: { type: 'array', items: extended(COUNTS, { day: DAY }) },
          queries: {
            type: 'array',
            description: 'Without `query_id`: requests that met no query.',
            items: extended(COUNTS, { query_id: { type: 'integer', minimum: 1 } }, ['query_id']),
          },
        }),
      },
    },
  };
}

function dayParameter(name: string, description: string): Fragment {
  return { name, in: 'query', description, schema: DAY };
}
