/** The endpoints of results and status. */
import { SHARED_PARAMETERS } from '../../results/request/shared-parameters.ts';
import { PARTIAL, UNCHANGED } from './conditional-responses.ts';
import { schemaNameOf } from './dataset-rows.ts';
import { errorResponses } from './error-responses.ts';
import { exampleEnvelope, exampleResults, exampleStatus } from './examples.ts';
import { CSV_CONTENT, OTHER_CONTENTS } from './other-formats.ts';
import { resultsParameters } from './parameters.ts';
import { pathItem } from './path-item.ts';
import { type DatasetDescription, type Fragment, refTo } from './schema.ts';

export interface PathsOptions {
  /** Scheme and host, for the addresses in examples. */
  readonly exampleUrl: string;
  readonly datasets: readonly DatasetDescription[];
}

const LATEST_ABOUT =
  'Of the newest run that has a stored result, whatever started it; when there is none, of the newest run. The query must be public or yours.';

const DIFF_ABOUT =
  'Rows with a first column `change`: `added`, `removed`, and with a `key` `changed_from` and `changed_to`, in the order of the key. Counts are in `metadata.diff`. Columns that only one of the two has are not compared.';

const SHARED_ABOUT =
  'Needs no key: the token in the address is one. Of a share of a query it is the latest result, and the addresses of further pages name its execution. Only the columns and rows that are shared can be asked for.';

const CSV_ABOUT =
  'RFC 4180: a header line, commas, line feeds, quotes where needed; null is empty, an empty text is `""`. Beyond the datapoint limit, give a `limit` and follow the `Link` header.';

export function resultsPaths(options: PathsOptions): Readonly<Record<string, Fragment>> {
  return {
    '/v1/execution/{execution_id}/status': statusPath(),
    '/v1/execution/{execution_id}/results': rowsPath('execution', 'any', options, {
      operationId: 'getExecutionResults',
      summary: 'Results of an execution',
      description: 'The envelope of the execution and, when it has a result, a page of its rows.',
    }),
    '/v1/execution/{execution_id}/results/csv': rowsPath('execution', 'csv', options, {
      operationId: 'getExecutionResultsCsv',
      summary: 'Results of an execution as CSV',
      description: CSV_ABOUT,
    }),
    '/v1/execution/{execution_id}/diff/{other}': diffPath('execution', options, {
      operationId: 'getExecutionDifference',
      summary: 'What changed between two executions',
      description: DIFF_ABOUT,
    }),
    '/v1/query/{query_id}/diff': diffPath('query', options, {
      operationId: 'getQueryDifference',
      summary: 'What changed in a query since a time',
      description: `${DIFF_ABOUT} The addresses of further pages name both executions.`,
    }),
    '/v1/query/{query_id}/results': rowsPath('query', 'any', options, {
      operationId: 'getLatestQueryResults',
      summary: 'Latest results of a query',
      description: `${LATEST_ABOUT} The addresses of further pages name that execution, so a walk stays on it.`,
    }),
    '/v1/query/{query_id}/results/csv': rowsPath('query', 'csv', options, {
      operationId: 'getLatestQueryResultsCsv',
      summary: 'Latest results of a query as CSV',
      description: `${LATEST_ABOUT}\n\n${CSV_ABOUT}`,
    }),
    '/v1/shared/{token}/results': rowsPath('share', 'any', options, {
      operationId: 'getSharedResults',
      summary: 'What is shared at this address',
      description: SHARED_ABOUT,
    }),
    '/v1/shared/{token}/results/csv': rowsPath('share', 'csv', options, {
      operationId: 'getSharedResultsCsv',
      summary: 'What is shared at this address, as CSV',
      description: `${SHARED_ABOUT}\n\n${CSV_ABOUT}`,
    }),
    ...Object.fromEntries(options.datasets.map((dataset) => [dataset.path, datasetPath(dataset)])),
  };
}

type By = 'execution' | 'query';
/** What an address of rows names. */
type RowsBy = By | 'share';
type Words = Readonly<Record<'operationId' | 'summary' | 'description', string>>;

const PLACES = {
  execution: { tags: ['Executions'], path: { parameters: [refTo('parameters', 'executionIdInPath')] } },
  query: { tags: ['Queries'], path: { parameters: [refTo('parameters', 'queryIdInPath')] } },
  share: {
    tags: ['Shares'],
    path: { parameters: [{ name: 'token', in: 'path', required: true, schema: { type: 'string' } }] },
  },
} as const satisfies Readonly<Record<RowsBy, object>>;

function statusPath(): Fragment {
  return pathItem(
    {
      operationId: 'getExecutionStatus',
      tags: PLACES.execution.tags,
      summary: 'Status of an execution',
      description: 'The state of the execution. Poll this until `is_execution_finished`, then ask for the results.',
      parameters: [refTo('parameters', SHARED_PARAMETERS.executionId.name)],
      responses: {
        200: statusResponse(),
        304: UNCHANGED,
        ...errorResponses('reading'),
      },
    },
    PLACES.execution.path,
  );
}

function diffPath(by: By, options: PathsOptions, words: Words): Fragment {
  const names = by === 'execution' ? ['diffKey'] : ['diffKey', 'diffFrom', 'diffTo'];
  const { parameters } = PLACES[by].path;
  return pathItem(
    {
      ...words,
      tags: PLACES[by].tags,
      parameters: [...names.map((name) => refTo('parameters', name)), ...resultsParameters('execution', true)],
      responses: { 200: resultsResponse(options), 206: PARTIAL, 304: UNCHANGED, ...errorResponses('rows') },
    },
    { parameters: by === 'execution' ? [...parameters, refTo('parameters', 'otherExecutionInPath')] : parameters },
  );
}

/** @param format the one that the address names; `any`: what is asked for */
function rowsPath(by: RowsBy, format: 'csv' | 'any', options: PathsOptions, words: Words): Fragment {
  const isCsv = format === 'csv';
  const isShare = by === 'share';
  return pathItem(
    {
      ...words,
      tags: PLACES[by].tags,
      ...(isShare && { security: [] }),
      parameters: resultsParameters(isShare ? 'execution' : by, !isCsv),
      responses: {
        200: isCsv ? CSV_PAGE : resultsResponse(options),
        206: PARTIAL,
        304: UNCHANGED,
        ...errorResponses(isShare ? 'shared' : 'rows'),
      },
    },
    PLACES[by].path,
  );
}

function datasetPath(dataset: DatasetDescription): Fragment {
  const name = schemaNameOf(dataset);
  return pathItem({
    operationId: `get${name}`,
    tags: ['Datasets'],
    summary: dataset.name,
    description: `${dataset.title}. Refreshed ${refreshed(dataset.schedule)}.`,
    parameters: resultsParameters('dataset', true),
    responses: {
      200: pageResponse({ schema: refTo('schemas', `${name}Results`) }),
      206: PARTIAL,
      304: UNCHANGED,
      ...errorResponses('rows'),
    },
  });
}

function refreshed(schedule: string): string {
  const minutes = /^\*\/(\d+) \* \* \* \*$/.exec(schedule)?.[1];
  if (minutes !== undefined) return `every ${minutes} minutes`;
  const hour = /^0 (\d+) \* \* \*$/.exec(schedule)?.[1];
  return hour === undefined
    ? `by the schedule \`${schedule}\` (cron, UTC)`
    : `daily at ${hour.padStart(2, '0')}:00 UTC`;
}

function resultsResponse(options: PathsOptions): Fragment {
  return pageResponse({
    schema: refTo('schemas', 'ExecutionResults'),
    examples: {
      completed: { summary: 'A page, and where the next is', value: exampleResults(options.exampleUrl) },
      failed: { summary: 'A run that failed', value: exampleEnvelope('FAILED') },
    },
  });
}

function pageResponse(json: Fragment): Fragment {
  return {
    description:
      'A page of the result; in JSON with the execution, and that alone while there is no result. `Accept` or `format` choose the format.',
    content: { 'application/json': json, ...OTHER_CONTENTS },
  };
}

const CSV_PAGE: Fragment = { description: 'A page of the result.', content: CSV_CONTENT };

function statusResponse(): Fragment {
  return {
    description: 'The execution, without rows.',
    content: {
      'application/json': {
        schema: refTo('schemas', 'ExecutionStatus'),
        example: exampleStatus(),
      },
    },
  };
}
