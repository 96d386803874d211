/** The endpoints that make, list and end shares (contract §11). What is shared is read by the endpoints of results-operations.ts. */
import { errorResponses } from './error-responses.ts';
import { pathItem } from './path-item.ts';
import { type Fragment, listOf, object, QUERY_ID, refTo, TEXT } from './schema.ts';
import { answered, pathParameter, written } from './writing-operations.ts';

const ABOUT = {
  query:
    'The latest result of the query, whichever that is, for whoever has the address. Whoever may change the query may share it. It stays shared when the query becomes private.',
  execution: 'The result of this run, for whoever has the address. Whoever may change the query may share it.',
} as const;

const ACTIVE: Fragment = {
  name: 'active',
  in: 'query',
  description: '`true`: only those that can be read now; `false`: only those that have ended or expired.',
  schema: { type: 'boolean' },
};

export const SHARING_SCHEMAS: Readonly<Record<string, Fragment>> = {
  NewShare: object(
    {
      expires_in: { type: ['integer', 'null'], minimum: 1, description: 'Seconds; until it is ended, when absent.' },
      columns: {
        anyOf: [{ type: 'array', minItems: 1, items: TEXT }, { type: ['string', 'null'] }],
        description:
          'The only columns that are shown, in this order: a list, or a text as in `?columns=`. Absent: all.',
      },
      filters: {
        type: ['string', 'null'],
        description: 'Only rows that match are shown, as in `?filters=`. Absent: all.',
      },
    },
    ['expires_in', 'columns', 'filters'],
  ),
  MadeShare: object(
    {
      url: {
        type: 'string',
        format: 'uri',
        description: 'Where it is read. Shown this once, not again under an idempotency key.',
      },
      id: TEXT,
      expires_at: TEXT,
    },
    ['url', 'expires_at'],
  ),
  Share: object(
    {
      id: TEXT,
      user: TEXT,
      team: TEXT,
      query_id: QUERY_ID,
      execution_id: TEXT,
      columns: { type: 'array', items: TEXT },
      filters: TEXT,
      created_at: TEXT,
      expires_at: TEXT,
      last_used_at: TEXT,
      ended_at: TEXT,
    },
    ['user', 'team', 'execution_id', 'columns', 'filters', 'expires_at', 'last_used_at', 'ended_at'],
  ),
};

export function sharingPaths(): Readonly<Record<string, Fragment>> {
  return { ...pathsOf('query'), ...pathsOf('execution') };
}

function pathsOf(by: 'query' | 'execution'): Readonly<Record<string, Fragment>> {
  const name = by === 'query' ? 'Query' : 'Execution';
  const parameters = [refTo('parameters', `${by}IdInPath`)];
  const common = { tag: 'Shares', kind: 'sharing' } as const;
  const list = [...['listLimit', 'listOffset'].map((parameter) => refTo('parameters', parameter)), ACTIVE];
  return {
    [`/v1/${by}/{${by}_id}/share`]: {
      ...pathItem({
        operationId: `get${name}Shares`,
        tags: ['Shares'],
        summary: by === 'query' ? 'What is shared of a query and its executions' : 'What is shared of an execution',
        parameters: [...parameters, ...list],
        responses: {
          200: answered(listOf('shares', refTo('schemas', 'Share'))),
          ...errorResponses('reading'),
        },
      }),
      post: written({
        ...common,
        operationId: `share${name}`,
        summary: by === 'query' ? 'Share the latest result of a query' : 'Share the result of an execution',
        description: ABOUT[by],
        body: 'NewShare',
        parameters,
        status: 201,
        answer: 'MadeShare',
      }),
    },
    [`/v1/${by}/{${by}_id}/share/{share}`]: {
      parameters: [...parameters, pathParameter('share')],
      delete: written({
        ...common,
        operationId: `end${name}Share`,
        summary: 'End a share, by its id',
        status: 200,
        answer: 'Done',
      }),
    },
  };
}
