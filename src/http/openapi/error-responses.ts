/**
 * The failures of endpoints: one response, `default`, for each kind of request. It lists the codes that such a request can be answered with;
 * what each code means stands once, in the schema `ErrorCode`. docs/reference/errors.md has an example of each.
 */
import { formatState } from '../../domain/execution.ts';
import { ERRORS, type ErrorCode } from '../../errors/errors.ts';
import { errorExample } from './error-examples.ts';
import { errorHeaders } from './response-headers.ts';
import { type Fragment, refTo } from './schema.ts';

/** Of any request with a key. */
const OF_ANY: readonly ErrorCode[] = ['bad_request', 'invalid_api_key', 'expectation_failed', 'rate_limited'];

const OF_TARGETS: readonly ErrorCode[] = [
  'invalid_execution_id',
  'invalid_query_id',
  'execution_not_found',
  'query_not_found',
];

const OF_FILTERS: readonly ErrorCode[] = [
  'unknown_column',
  'filter_syntax',
  'filter_column',
  'filter_type',
  'filter_value',
  'filter_unsupported',
  'filter_limit',
];

const OF_ROWS: readonly ErrorCode[] = [
  ...OF_TARGETS,
  'no_execution_found',
  'no_result',
  'partial_result',
  'invalid_parameter',
  'incompatible_parameters',
  'unsupported_column',
  'datapoint_limit',
  ...OF_FILTERS,
  'sort_syntax',
  'sort_column',
  'sort_type',
  'sort_limit',
  'precondition_failed',
  'range_not_satisfiable',
];

const OF_WRITING: readonly ErrorCode[] = [
  ...OF_TARGETS,
  'scope',
  'invalid_body',
  'invalid_parameter',
  'incompatible_parameters',
  'invalid_query',
  'invalid_query_parameter',
  'query_not_runnable',
  'invalid_result',
  'invalid_digest',
  'digest_mismatch',
  'invalid_idempotency_key',
  'body_stalled',
  'conflict',
  'illegal_transition',
  'idempotency_in_progress',
  'body_too_large',
  'unsupported_media_type',
  'idempotency_mismatch',
  'too_many_uploads',
  'too_many_runs',
];

const REFUSALS = {
  /** Of a request for rows. */
  rows: OF_ROWS,
  /** The same, at the address of a share. */
  shared: ['share_not_found', ...OF_ROWS],
  /** Of a message of the Model Context Protocol. What a tool refuses is in its result. */
  messages: [
    'origin_not_allowed',
    'method_not_allowed',
    'invalid_body',
    'body_too_large',
    'body_stalled',
    'unsupported_media_type',
  ],
  /** Of a request that reads something else. */
  reading: [...OF_TARGETS, 'invalid_parameter', 'scope', 'precondition_failed'],
  /** Of a request that reads or removes a webhook. */
  webhook: ['webhook_not_found', 'scope', 'invalid_parameter'],
  /** Of a request that changes something. */
  writing: OF_WRITING,
  /** Of one that adds or removes a webhook. */
  webhookWriting: ['webhook_not_found', ...OF_WRITING],
  /** Of one that makes or ends a share. */
  sharing: ['share_not_found', 'no_result', ...OF_FILTERS, ...OF_WRITING],
} as const satisfies Readonly<Record<string, readonly ErrorCode[]>>;

export type RequestKind = keyof typeof REFUSALS;

/** (`not_ready` is of one operation alone.) */
const OF_THE_MOMENT = (Object.keys(ERRORS) as ErrorCode[]).filter(
  (code) => code !== 'not_ready' && ERRORS[code].status >= 500,
);

/** What every endpoint with a key has beside its own responses. @param kind of the request */
export function errorResponses(kind: RequestKind): Readonly<Record<string, Fragment>> {
  return { default: errorResponse([...OF_ANY, ...REFUSALS[kind], ...OF_THE_MOMENT]) };
}

/** The answer to a failure that has one of these codes. */
export function errorResponse(codes: readonly ErrorCode[]): Fragment {
  return {
    description: 'A failure. Its status is that of its code.',
    headers: errorHeaders(codes),
    content: { 'application/json': { schema: bodySchema(codes) } },
  };
}

function bodySchema(codes: readonly ErrorCode[]): Fragment {
  const withState = codes.includes('no_result') || codes.includes('illegal_transition');
  const schemas = [
    'Error',
    ...(withState ? ['NoResult'] : []),
    ...(codes.includes('partial_result') ? ['PartialResult'] : []),
  ].map((name) => refTo('schemas', name));
  return schemas.length === 1 ? refTo('schemas', 'Error') : { anyOf: schemas };
}

export const ERROR_SCHEMAS: Readonly<Record<string, Fragment>> = {
  ErrorCode: {
    type: 'string',
    description: Object.entries(ERRORS)
      .map(([code, { status, when }]) => `- \`${code}\`, ${status}: ${when}`)
      .join('\n'),
  },
  Error: {
    type: 'object',
    properties: { error: { type: 'string', description: 'What is wrong, for a person to read.' } },
    required: ['error'],
    additionalProperties: false,
    examples: [errorExample('filter_column').body],
  },
  NoResult: {
    type: 'object',
    properties: { error: { type: 'string' }, state: refTo('schemas', 'State') },
    required: ['error', 'state'],
    additionalProperties: false,
  },
  PartialResult: {
    type: 'object',
    description: 'The result is truncated, and the request did not allow partial results.',
    properties: { error: { type: 'string' }, state: { const: formatState('FAILED') } },
    required: ['error'],
    allOf: [refTo('schemas', 'Envelope')],
    unevaluatedProperties: false,
  },
};
