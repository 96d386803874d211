/** The endpoints to look around with (contract §8): lists of queries and of runs. */
import { SHARED_PARAMETERS } from '../../results/request/shared-parameters.ts';
import { UNCHANGED } from './conditional-responses.ts';
import { errorResponses } from './error-responses.ts';
import { pathItem } from './path-item.ts';
import { type Fragment, INSTANT, listOf, object, refTo, TEXT } from './schema.ts';

const COUNT: Fragment = { type: 'integer', minimum: 0 };

const SIZE: Fragment = {
  row_count: { ...COUNT, description: 'Rows of the stored result.' },
  bytes: { ...COUNT, description: 'Cell bytes of the stored result.' },
};

/** Those after the first four only where the column has them. */
const COLUMN_STATISTICS: Fragment = {
  name: TEXT,
  type: TEXT,
  row_count: COUNT,
  null_count: COUNT,
  distinct_count: COUNT,
  distinct_is_exact: { type: 'boolean', description: 'False where `distinct_count` is an estimate.' },
  min: { description: 'As rows have it, like `max`. Of numbers and times.' },
  max: {},
  mean: { type: 'number', description: 'Of finite numbers, as a double; so is `standard_deviation`.' },
  standard_deviation: { type: 'number' },
  shortest: { ...COUNT, description: 'Characters of the shortest text.' },
  longest: COUNT,
  top: {
    type: 'array',
    maxItems: 20,
    description:
      'The most frequent values, where there are not more than some 1,000,000. Of a text longer than 200 characters the beginning is told.',
    items: object({ value: {}, count: { ...COUNT, minimum: 1 } }),
  },
  histogram: {
    type: 'array',
    description:
      '20 bins of one width, each with its lower edge, the last with both. Of finite numbers, dates and timestamps.',
    items: object({ from: {}, to: {}, count: COUNT }),
  },
};

const STATISTICS_EXAMPLE: Fragment = {
  execution_id: '01HR7PD8XYZ3M4N5P6Q7R8S9TA',
  query_id: 1_215_383,
  row_count: 5_000_000,
  columns: [
    {
      name: 'chain',
      type: 'varchar',
      row_count: 5_000_000,
      null_count: 0,
      shortest: 3,
      longest: 8,
      distinct_count: 2,
      distinct_is_exact: true,
      top: [
        { value: 'base', count: 4_000_000 },
        { value: 'optimism', count: 1_000_000 },
      ],
    },
  ],
};

export const BROWSING_SCHEMAS: Readonly<Record<string, Fragment>> = {
  LatestExecution: object(
    {
      execution_id: TEXT,
      state: refTo('schemas', 'State'),
      submitted_at: INSTANT,
      execution_ended_at: INSTANT,
      expires_at: INSTANT,
      ...SIZE,
    },
    ['execution_ended_at', 'expires_at', 'row_count', 'bytes'],
  ),
  QueryColumn: object({ name: TEXT, type: TEXT, description: TEXT }, ['description']),
  Statistics: object({
    execution_id: TEXT,
    query_id: { type: 'integer' },
    row_count: COUNT,
    columns: { type: 'array', items: refTo('schemas', 'ColumnStatistics') },
  }),
  ColumnStatistics: object(COLUMN_STATISTICS, Object.keys(COLUMN_STATISTICS).slice(4)),
  ListedExecution: {
    allOf: [refTo('schemas', 'Envelope')],
    properties: {
      error: refTo('schemas', 'ExecutionError'),
      query_parameters: { type: 'object', additionalProperties: TEXT },
      ...SIZE,
    },
    unevaluatedProperties: false,
  },
};

const LATEST: Fragment = {
  execution_id: '01HR7PD8XYZ3M4N5P6Q7R8S9TA',
  state: 'QUERY_STATE_COMPLETED',
  submitted_at: '2024-03-05T20:50:59.123000Z',
  execution_ended_at: '2024-03-05T20:51:03.783000Z',
  expires_at: '2024-06-03T20:51:03.783000Z',
  row_count: 5_000_000,
  bytes: 320_000_000,
};

const QUERY_EXAMPLE: Fragment = {
  query_id: 1_215_383,
  name: 'Whales of each chain',
  description: 'Wallets with more than 1,000,000 USD.',
  tags: ['wallets'],
  version: 1,
  owner: 'ann',
  parameters: [],
  query_engine: 'duckdb',
  is_private: false,
  is_archived: false,
  is_unsaved: false,
  created_at: '2024-03-05T20:50:59.123000Z',
  updated_at: '2024-03-05T20:50:59.123000Z',
  latest_execution: LATEST,
};

export function browsingPaths(): Readonly<Record<string, Fragment>> {
  return {
    '/v1/execution/{execution_id}/statistics': pathItem(
      {
        operationId: 'getExecutionStatistics',
        tags: ['Executions'],
        summary: 'The columns of a result in numbers',
        description: 'Each column is looked at once and remembered. At most 100 columns at a time.',
        parameters: [SHARED_PARAMETERS.columns, SHARED_PARAMETERS.allowPartialResults].map(({ name }) =>
          refTo('parameters', name),
        ),
        responses: {
          200: {
            description: 'A column after the other.',
            content: { 'application/json': { schema: refTo('schemas', 'Statistics'), example: STATISTICS_EXAMPLE } },
          },
          304: UNCHANGED,
          ...errorResponses('rows'),
        },
      },
      { parameters: [refTo('parameters', 'executionIdInPath')] },
    ),
    '/v1/queries': pathItem({
      operationId: 'getQueries',
      tags: ['Queries'],
      summary: 'The queries that the key may read',
      description: 'Newest first; with `search` those first that have its words in their names.',
      parameters: [
        textParameter('search', 'Words that stand in the name, the description, the tags or the id.'),
        textParameter('owner', 'The name of a user or a team.'),
        textParameter('tag', 'A tag.'),
        { name: 'has_results', in: 'query', description: 'Whether a result is stored.', schema: { type: 'boolean' } },
        refTo('parameters', 'listLimit'),
        refTo('parameters', 'listOffset'),
      ],
      responses: {
        200: answered(listOf('queries', refTo('schemas', 'ListedQuery')), { queries: [QUERY_EXAMPLE], total: 1 }),
        ...errorResponses('reading'),
      },
    }),
    '/v1/query/{query_id}/executions': pathItem(
      {
        operationId: 'getQueryExecutions',
        tags: ['Queries'],
        summary: 'The runs of a query',
        description: 'Newest first.',
        parameters: ['runState', 'submittedFrom', 'submittedTo', 'listLimit', 'listOffset'].map((name) =>
          refTo('parameters', name),
        ),
        responses: {
          200: answered(listOf('executions', refTo('schemas', 'ListedExecution'))),
          ...errorResponses('reading'),
        },
      },
      { parameters: [refTo('parameters', 'queryIdInPath')] },
    ),
  };
}

function textParameter(name: string, description: string): Fragment {
  return { name, in: 'query', description, schema: TEXT };
}

function answered(schema: Fragment, example?: Fragment): Fragment {
  return {
    description: 'A page of the list.',
    content: { 'application/json': { schema, ...(example && { example }) } },
  };
}
