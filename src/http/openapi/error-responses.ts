/** The failures of an endpoint: from the codes it may answer with to a response for each status. */
import { ERRORS, type ErrorCode } from '../../errors/errors.ts';
import { errorExample } from './error-examples.ts';
import { errorHeaders } from './response-headers.ts';
import { type Fragment, refTo } from './schema.ts';

/** Whatever is asked for, on an endpoint that needs a key. */
const ANYWHERE: readonly ErrorCode[] = [
  'bad_request',
  'expectation_failed',
  'invalid_api_key',
  'rate_limited',
  'internal',
  'overloaded',
  'shutting_down',
];

export const TARGET_ERRORS = {
  execution: ['invalid_execution_id', 'execution_not_found'],
  query: ['invalid_query_id', 'query_not_found', 'no_execution_found', 'execution_not_found'],
  dataset: ['query_not_found', 'no_execution_found', 'execution_not_found'],
} as const satisfies Readonly<Record<string, readonly ErrorCode[]>>;

/** Of a request for rows. */
export const ROW_ERRORS: readonly ErrorCode[] = [
  'no_result',
  'partial_result',
  'invalid_parameter',
  'incompatible_parameters',
  'unknown_column',
  'unsupported_column',
  'datapoint_limit',
  'filter_syntax',
  'filter_column',
  'filter_type',
  'filter_value',
  'filter_unsupported',
  'filter_limit',
  'sort_syntax',
  'sort_column',
  'sort_type',
  'sort_limit',
  'range_not_satisfiable',
  'storage_full',
  'read_timeout',
  'result_damaged',
];

/** By status. @param codes besides those that every endpoint with a key may answer with */
export function errorResponses(codes: readonly ErrorCode[]): Readonly<Record<string, Fragment>> {
  const byStatus = Object.groupBy([...ANYWHERE, ...codes], (code) => String(ERRORS[code].status));
  return Object.fromEntries(Object.entries(byStatus).map(([status, some = []]) => [status, errorResponse(some)]));
}

/** The answer to a failure that has one of these codes, which have one status. */
export function errorResponse(codes: readonly ErrorCode[]): Fragment {
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].when}`).join('\n\n'),
    headers: errorHeaders(codes),
    content: {
      'application/json': {
        schema: bodySchema(codes),
        examples: Object.fromEntries(codes.map((code) => [code, exampleOf(code)])),
      },
    },
  };
}

function bodySchema(codes: readonly ErrorCode[]): Fragment {
  if (codes.includes('no_result')) return refTo('schemas', 'NoResult');
  if (!codes.includes('partial_result')) return refTo('schemas', 'Error');
  return { anyOf: [refTo('schemas', 'Error'), refTo('schemas', 'PartialResult')] };
}

function exampleOf(code: ErrorCode): Fragment {
  const { parameters, body } = errorExample(code);
  return { ...(parameters !== undefined && { summary: `?${parameters}` }), value: body };
}
