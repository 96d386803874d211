/** The parameters of the results endpoints, from the table that parses them. */
import { SHARED_PARAMETERS, type SharedParameter } from '../../results/request/shared-parameters.ts';
import { type Fragment, refTo } from './schema.ts';

const FILTERS_PAGE = 'docs/reference/filters.md';

/** Of lists. */
const LIST_PARAMETERS: Readonly<Record<string, Fragment>> = {
  runState: {
    name: 'state',
    in: 'query',
    description: 'Only runs in this state. A result past its expiry is expired, swept or not.',
    schema: refTo('schemas', 'State'),
  },
  submittedFrom: {
    name: 'from',
    in: 'query',
    description: 'Only runs submitted at this time or later: `2024-03-05`, `2024-03-05T20:50:59Z`.',
    schema: { type: 'string' },
  },
  submittedTo: {
    name: 'to',
    in: 'query',
    description: 'Only runs submitted before this time.',
    schema: { type: 'string' },
  },
  listLimit: {
    name: 'limit',
    in: 'query',
    description: 'The most to list; 50, when absent.',
    schema: { type: 'integer', minimum: 0, maximum: 200 },
  },
  listOffset: {
    name: 'offset',
    in: 'query',
    description: 'Where to start.',
    schema: { type: 'integer', minimum: 0 },
  },
  longListLimit: {
    name: 'limit',
    in: 'query',
    description: 'The most to list.',
    schema: { type: 'integer', minimum: 0, maximum: 10_000 },
  },
};

/** Of differences of two runs. */
const DIFF_PARAMETERS: Readonly<Record<string, Fragment>> = {
  otherExecutionInPath: {
    name: 'other',
    in: 'path',
    required: true,
    description: 'The id of the execution to compare with: what changed since.',
    schema: { type: 'string' },
  },
  diffKey: {
    name: 'key',
    in: 'query',
    description:
      'Names of columns, separated by commas: rows that have the same values in these are compared with each other. Without it, rows are compared as a whole.',
    schema: { type: 'string' },
  },
  diffFrom: {
    name: 'from',
    in: 'query',
    required: true,
    description: 'A time, such as `2024-03-05`: what changed since the run that was the latest then.',
    schema: { type: 'string' },
  },
  diffTo: {
    name: 'to',
    in: 'query',
    description: 'A time: until the run that was the latest then. Without it, until the latest now.',
    schema: { type: 'string' },
  },
};

/** Of requests that publish a file. */
const FILE_PARAMETERS: Readonly<Record<string, Fragment>> = {
  types: {
    name: 'types',
    in: 'query',
    description: 'Types of columns that the file cannot tell: `amount=uint256,price=decimal(10, 3)`.',
    schema: { type: 'string' },
  },
  delimiter: {
    name: 'delimiter',
    in: 'query',
    description: 'What separates the fields of CSV. Absent: a comma, a semicolon or a tab, as the header has it.',
    schema: { type: 'string', minLength: 1, maxLength: 1 },
  },
};

export function parameterComponents(): Readonly<Record<string, Fragment>> {
  return {
    ...Object.fromEntries(Object.values<SharedParameter>(SHARED_PARAMETERS).map((p) => [p.name, queryParameter(p)])),
    executionIdInPath: {
      name: 'execution_id',
      in: 'path',
      required: true,
      description: 'The identifier of the execution: a ULID.',
      schema: { type: 'string' },
      example: SHARED_PARAMETERS.executionId.example,
    },
    queryIdInPath: {
      name: 'query_id',
      in: 'path',
      required: true,
      description: 'The number of the query.',
      schema: { type: 'string' },
      example: SHARED_PARAMETERS.queryId.example,
    },
    ...LIST_PARAMETERS,
    ...DIFF_PARAMETERS,
    ...FILE_PARAMETERS,
    idempotencyKey: {
      name: 'Idempotency-Key',
      in: 'header',
      description:
        'A text of your choice, such as a UUID: sent again under it, the same request is answered as before and done once.',
      schema: { type: 'string', maxLength: 257 },
    },
    queryParameters: {
      name: 'params',
      in: 'query',
      style: 'form',
      explode: true,
      description:
        'Named parameters of the query, each sent as `params.NAME=value`, for example `params.chain=base`: the latest run that had these values. Without any: the latest run, whatever it had.',
      schema: {
        type: 'object',
        patternProperties: { '^params\\.': { type: 'string' } },
        additionalProperties: false,
      },
    },
  };
}

function queryParameter(parameter: SharedParameter): Fragment {
  return { name: parameter.name, in: 'query', description: descriptionOf(parameter), schema: schemaOf(parameter) };
}

/**
 * The example stands in the text and not in a field of its own: pages that try requests send every example they find, and
 * together these make no sense.
 */
function descriptionOf(parameter: SharedParameter): string {
  const { name, about } = parameter;
  if (parameter.kind === 'boolean') return `${about} Absent: false.`;
  const isExpression = name === SHARED_PARAMETERS.filters.name || name === SHARED_PARAMETERS.sortBy.name;
  const language = isExpression ? ` The language: \`${FILTERS_PAGE}\`.` : '';
  return parameter.kind === 'text' ? `${about} For example \`${parameter.example}\`.${language}` : about;
}

function schemaOf(parameter: SharedParameter): Fragment {
  switch (parameter.kind) {
    case 'boolean':
      return { type: 'boolean' };
    case 'choice':
      return { type: 'string', enum: parameter.choices };
    case 'integer':
      return { type: 'integer', format: 'int64', minimum: parameter.min };
    case 'text':
      return { type: 'string' };
    default:
      return parameter satisfies never;
  }
}

/**
 * What a results endpoint takes besides its path.
 * @param target what its address names
 * @param choosesFormat whether the address leaves the format open
 */
export function resultsParameters(
  target: 'execution' | 'query' | 'dataset',
  choosesFormat: boolean,
): readonly Fragment[] {
  const { executionId, queryId, format, bigints, asOf, ...shared } = SHARED_PARAMETERS;
  const same = target === 'execution' ? executionId : queryId;
  return [
    ...Object.values<SharedParameter>(shared).map((p) => refTo('parameters', p.name)),
    ...(choosesFormat ? [format, bigints].map((p) => refTo('parameters', p.name)) : []),
    ...(target === 'execution' ? [] : [refTo('parameters', asOf.name)]),
    ...(target === 'query' ? [refTo('parameters', 'queryParameters')] : []),
    refTo('parameters', same.name),
  ];
}
