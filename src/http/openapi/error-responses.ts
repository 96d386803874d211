/** The failures of an endpoint: from the codes it may answer with to a response for each status. */
import { ERRORS, type ErrorCode } from '../../errors/errors.ts';
import { errorExample } from './error-examples.ts';
import { errorHeaders } from './response-headers.ts';
import { type Fragment, refTo } from './schema.ts';

/**
 * Statuses that tell of the key or of the moment, whatever was asked for: the response `default` of every operation has all their
 * codes. (`not_ready` is of one operation alone.)
 */
const isOfTheMoment = (code: ErrorCode) =>
  code !== 'not_ready' && (ERRORS[code].status >= 500 || [401, 417, 429].includes(ERRORS[code].status));

const OF_THE_MOMENT = (Object.keys(ERRORS) as ErrorCode[]).filter(isOfTheMoment);

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
];

/** Of a request for rows: whatever its address names, a parameter that is wrong is answered alike. */
export function rowErrorResponses(target: keyof typeof TARGET_ERRORS): Readonly<Record<string, Fragment>> {
  const ofIdentifiers: readonly ErrorCode[] = ['invalid_execution_id', 'invalid_query_id'];
  const others = TARGET_ERRORS[target].filter((code) => !ofIdentifiers.includes(code));
  return errorResponses([...ofIdentifiers, ...others, ...ROW_ERRORS]);
}

/** By status. @param codes of what was asked for, besides those that every endpoint with a key may answer with */
export function errorResponses(codes: readonly ErrorCode[]): Readonly<Record<string, Fragment>> {
  const byStatus = Object.groupBy(['bad_request', ...codes] as const, (code) => String(ERRORS[code].status));
  const ofWhatWasAsked = Object.entries(byStatus).map(([status, some = []]) => [status, errorResponse(some)]);
  const { description, ...otherwise } = errorResponse(OF_THE_MOMENT);
  return {
    ...Object.fromEntries(ofWhatWasAsked),
    default: { description: `401, 417, 429 or 5xx. ${description}`, ...otherwise },
  };
}

/** The answer to a failure that has one of these codes, of one status or of several. What each means stands once, with its example. */
export function errorResponse(codes: readonly ErrorCode[]): Fragment {
  return {
    description: codes.map((code) => `\`${code}\``).join(', '),
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
  if (codes.includes('illegal_transition')) return { anyOf: [refTo('schemas', 'Error'), refTo('schemas', 'NoResult')] };
  if (!codes.includes('partial_result')) return refTo('schemas', 'Error');
  return { anyOf: [refTo('schemas', 'Error'), refTo('schemas', 'PartialResult')] };
}

function exampleOf(code: ErrorCode): Fragment {
  const { parameters, body } = errorExample(code);
  const asked = parameters === undefined ? '' : ` As by \`?${parameters}\`.`;
  return { summary: `${ERRORS[code].status}: ${ERRORS[code].when}${asked}`, value: body };
}
