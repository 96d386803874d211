/**
 * The four tools of `/mcp` (contract §11): search queries, describe one, read rows, compare two runs. Each answers as the same request over
 * HTTP would be answered.
 */
import { RequestError } from '../../errors/errors.ts';
import type { ResultsDeps } from '../../results/deps.ts';
import { answerDiff, type DiffTargets } from '../../results/diff/answer-diff.ts';
import { answerResults } from '../../results/pipeline.ts';
import { parameterOf, type QueryParameters } from '../../results/request/query-string.ts';
import { type ResultsRequest, type Target, wholeRequest } from '../../results/request/results-request.ts';
import { SHARED_PARAMETERS } from '../../results/request/shared-parameters.ts';
import { answerStatistics, STATISTICS_COLUMNS_MAX } from '../../results/statistics/answer-statistics.ts';
import { type BrowsingDeps, queriesBody, queryBody } from '../browsing/browsing-routes.ts';
import { FILTERS_ABOUT } from '../openapi/about.ts';
import { type Bounded, bodyText, documentText } from './body-text.ts';
import type { Argument, Tool, ToolCall } from './tool.ts';

export interface ToolDeps {
  readonly results: ResultsDeps;
  readonly browsing: BrowsingDeps;
}

/** Rows of an answer where no number is asked for. A model reads them as text. */
const ROWS_DEFAULT = 100;
const ROWS_MAX = 1000;

const OF_READING: Bounded = {
  what: 'limit: these rows',
  instead: 'ask for fewer rows, or for some columns',
};

const QUERY_ID: Argument = { kind: 'number', description: 'The id of a query.' };
const ROWS: Argument = { kind: 'number', max: ROWS_MAX, description: `How many rows; ${ROWS_DEFAULT} without it.` };
const { allowPartialResults, asOf, offset, sampleCount, search, sortBy } = SHARED_PARAMETERS;

/** Which rows, of a result or of a difference. */
const OF_ROWS = {
  columns: { kind: 'names', description: 'The columns wanted, in this order; all without it.' },
  filters: { kind: 'text', description: FILTERS_ABOUT },
  search: { kind: 'text', description: search.about },
  sort_by: { kind: 'text', description: sortBy.about },
  limit: ROWS,
  offset: { kind: 'number', description: offset.about },
  allow_partial_results: { kind: 'flag', description: allowPartialResults.about },
} as const satisfies Tool['arguments'];

export function makeTools(deps: ToolDeps): readonly Tool[] {
  return [searchQueries(deps), describeQuery(deps), readRows(deps), compareRuns(deps)];
}

function searchQueries({ browsing }: ToolDeps): Tool {
  return {
    name: 'search_queries',
    title: 'Search queries',
    description:
      'The queries whose results you may read, the best match first: name, description, tags, owner, and the size of the latest result. `total` says how many there are.',
    arguments: {
      search: { kind: 'text', description: 'Words of the name, the description, the tags or the id.' },
      owner: { kind: 'text', description: 'Only queries of this user or team.' },
      tag: { kind: 'text', description: 'Only queries with this tag.' },
      has_results: { kind: 'flag', description: 'Only queries with a result to read, or only those without.' },
      limit: { kind: 'number', max: 200, description: 'How many; 50 without it.' },
      offset: { kind: 'number', description: 'How many to leave out: `next_offset` of the answer before.' },
    },
    call: async ({ parameters, principal, stats, base }) => {
      const asked = { id: '', stats, principal, parameters, address: `${base}/queries` };
      const bounded = { what: 'limit: these queries', instead: 'ask for fewer' };
      return [documentText(await queriesBody(asked, browsing), bounded)];
    },
  };
}

function describeQuery({ browsing, results }: ToolDeps): Tool {
  return {
    name: 'describe_query',
    title: 'Describe a query',
    description:
      'What a query is, its latest run, and the columns of its result with types, descriptions and, as a second document, statistics: nulls, distinct values, the least and the greatest, the most frequent. Look here before you filter.',
    arguments: {
      query_id: QUERY_ID,
      columns: {
        kind: 'names',
        description: `The columns whose statistics are wanted, at most ${STATISTICS_COLUMNS_MAX}; without it all, or none where there are more.`,
      },
      statistics: {
        kind: 'flag',
        description: 'Whether statistics are wanted. They may take some seconds; true without it.',
      },
    },
    required: ['query_id'],
    call: async (call) => {
      const { parameters, principal, stats } = call;
      const id = parameterOf(parameters, 'query_id') ?? '';
      const described = await queryBody({ id, stats, principal }, browsing);
      const instead = 'read_rows with the limit 0 tells the columns';
      const texts = [documentText(described, { what: 'query_id: what is known of it and its columns', instead })];
      if (!('columns' in described) || described.columns === undefined) return texts;
      if (parameterOf(parameters, 'statistics') === 'false') return texts;
      // Too many columns for all their statistics: a caller who has not seen the names could not have chosen some.
      const isTooWide = described.columns.length > STATISTICS_COLUMNS_MAX && !parameters.has('columns');
      if (!isTooWide) texts.push(await statisticsText(described.latest_execution.execution_id, call, results));
      return texts;
    },
  };
}

async function statisticsText(executionId: string, call: ToolCall, results: ResultsDeps): Promise<string> {
  const { principal, stats, signal } = call;
  const columns = call.parameters.get('columns');
  const parameters = new Map([
    // The description has said already that the result is truncated.
    ['allow_partial_results', ['true']],
    ...(columns === undefined ? [] : [['columns', columns] as const]),
  ]);
  const request = requestOf({ kind: 'execution', executionId }, parameters, call);
  const bounded = { what: 'columns: the statistics of these', instead: 'name fewer' };
  return await bodyText(await answerStatistics(request, principal, results, stats, signal), bounded);
}

function readRows({ results }: ToolDeps): Tool {
  return {
    name: 'read_rows',
    title: 'Read rows',
    description:
      'Rows of the latest result of a query, or of one execution: filtered, searched, sorted, paged or sampled. `result.metadata` says how many rows there are in all (`total_row_count`), how many match (`filtered_row_count`) and how many are here (`row_count`); where more follow, `next_offset` says from where. Whole numbers beyond 2^53 are texts, with every digit.',
    arguments: {
      query_id: QUERY_ID,
      execution_id: { kind: 'text', description: 'The id of an execution, in place of `query_id`.' },
      ...OF_ROWS,
      sample_count: { kind: 'number', max: ROWS_MAX, description: sampleCount.about },
      as_of: { kind: 'text', description: asOf.about },
      params: { kind: 'values', description: 'Of a query with parameters: their values in the run that is wanted.' },
    },
    call: async (call) => {
      const { principal, stats, signal } = call;
      const request = requestOf(targetOf(call.parameters), rowParameters(call.parameters), call);
      return [await bodyText(await answerResults(request, principal, results, stats, signal), OF_READING)];
    },
  };
}

function compareRuns({ results }: ToolDeps): Tool {
  return {
    name: 'compare_runs',
    title: 'Compare two runs',
    description:
      'What changed from one run to another, as rows: added, removed and, with `key`, changed. Name a query and the times `from` and `to` at which the runs were the latest, or two executions. `result.metadata.diff` has the counts of the whole difference.',
    arguments: {
      query_id: QUERY_ID,
      from: { kind: 'text', description: 'A time such as 2024-03-05: the run that was the latest of the query then.' },
      to: { kind: 'text', description: 'The same of the later run; now without it.' },
      from_execution_id: { kind: 'text', description: 'The id of the earlier execution, in place of `query_id`.' },
      to_execution_id: { kind: 'text', description: 'The id of the later execution.' },
      key: { kind: 'names', description: 'The columns that say which row is which.' },
      ...OF_ROWS,
    },
    call: async (call) => {
      const targets = diffTargetsOf(call.parameters);
      const request = requestOf(targets.to, rowParameters(call.parameters), call);
      return [await bodyText(await answerDiff(request, targets, call, results), OF_READING)];
    },
  };
}

/** As the API is asked: the answer always says how many rows of how many it has. */
function rowParameters(given: QueryParameters): QueryParameters {
  const parameters = new Map(given);
  for (const name of TARGETS) parameters.delete(name);
  const isNarrowed = parameters.has('filters') || parameters.has('search');
  if (isNarrowed) parameters.set('count', ['exact']);
  if (!parameters.has('limit') && !parameters.has('sample_count')) parameters.set('limit', [String(ROWS_DEFAULT)]);
  // Readers of JSON mostly round what a double cannot hold.
  parameters.set('bigints', ['string']);
  return parameters;
}

/** Arguments that say which result, and are part of the address over HTTP. */
const TARGETS = ['query_id', 'execution_id', 'from_execution_id', 'to_execution_id'];

function targetOf(parameters: QueryParameters): Target {
  const [queryId, executionId] = [parameterOf(parameters, 'query_id'), parameterOf(parameters, 'execution_id')];
  if (queryId !== undefined && executionId === undefined) return { kind: 'query', queryId };
  if (queryId === undefined && executionId !== undefined) return { kind: 'execution', executionId };
  throw new RequestError('invalid_parameter', 'expected query_id or execution_id, one of them');
}

function diffTargetsOf(parameters: QueryParameters): DiffTargets {
  const [queryId, from, to] = ['query_id', 'from_execution_id', 'to_execution_id'].map((name) =>
    parameterOf(parameters, name),
  );
  if (queryId !== undefined && from === undefined && to === undefined) {
    return { from: { kind: 'query', queryId, asOf: 'from' }, to: { kind: 'query', queryId, asOf: 'to' } };
  }
  if (queryId === undefined && from !== undefined && to !== undefined) {
    return { from: { kind: 'execution', executionId: from }, to: { kind: 'execution', executionId: to } };
  }
  const expected = 'query_id with from, or from_execution_id with to_execution_id';
  throw new RequestError('invalid_parameter', `expected ${expected}`);
}

/** The same question as an address would ask it. */
function requestOf(target: Target, parameters: QueryParameters, { base }: Pick<ToolCall, 'base'>): ResultsRequest {
  return wholeRequest({ target, format: 'json', parameters, base });
}
