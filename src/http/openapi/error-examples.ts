/**
 * An example of what each error says. Where the parameters of a request are what is wrong, the example is such a request, and
 * the text is what the read path answers it with: it cannot differ from the truth.
 */
import { formatState } from '../../domain/execution.ts';
import { type ErrorCode, RequestError } from '../../errors/errors.ts';
import type { ExpressionLimits } from '../../expression/limits.ts';
import { planRead } from '../../results/plan/read-plan.ts';
import { parseQueryString } from '../../results/request/query-string.ts';
import { parseSharedParameters } from '../../results/request/results-request.ts';
import { SHARED_PARAMETERS } from '../../results/request/shared-parameters.ts';
import { EXAMPLE_RESULT_SET, exampleEnvelope } from './examples.ts';
import type { Fragment } from './schema.ts';

type Example =
  | { readonly kind: 'text'; readonly text: string; readonly body?: Fragment }
  /** Parameters, as a person would type them, of a request to the example result. */
  | { readonly kind: 'asked'; readonly parameters: string };

const EXECUTION_ID = SHARED_PARAMETERS.executionId.example;
const REQUEST_ID = 'b7c1a9f05d0e4f0f9a510d8a';

const EXAMPLES: Readonly<Record<ErrorCode, Example>> = {
  invalid_api_key: text('invalid API Key'),
  scope: text('this API key may only read'),
  origin_not_allowed: text('pages of this origin may not ask; QRS_CORS_ORIGINS says which may'),
  method_not_allowed: text('only POST is answered here: there is no stream of messages, and no session'),
  route_not_found: text('not found: GET /v1/querys'),
  invalid_execution_id: text('The requested execution ID (ID: latest) is invalid.'),
  invalid_query_id: text('The requested query ID (ID: latest) is invalid.'),
  execution_not_found: text(`The requested execution ID (ID ${EXECUTION_ID}) was not found.`),
  query_not_found: text('not found: Query not found or private'),
  share_not_found: text('not found: nothing is shared at this address, or no longer'),
  no_execution_found: text('not found: No execution found for the latest version of the given query'),
  no_result: text(`Query state is ${formatState('EXECUTING')}, cannot provide CSV result`, {
    state: formatState('EXECUTING'),
  }),
  partial_result: text("Partial Result, please request with 'allow_partial_results=true'", {
    ...exampleEnvelope('COMPLETED_PARTIAL'),
    state: formatState('FAILED'),
  }),
  query_not_runnable: text('query 1234 has no SQL: its results are published by whoever runs it'),
  invalid_query: text(
    'line 3, column 11: no value can stand at {{table}}: a parameter is a value, not a name or a part of the SQL',
  ),
  invalid_query_parameter: text('unknown parameters (Chain)'),
  too_many_runs: text('this key has 100 runs waiting, and may have no more'),
  invalid_parameter: asked('limit=ten'),
  incompatible_parameters: asked('sample_count=10&limit=5'),
  unknown_column: asked('columns=wallet,amuont'),
  unsupported_column: text(
    'Parquet cannot hold names that differ only in case, as "chain" and "Chain" do; leave such a column out with columns=…, or ask for another format',
  ),
  datapoint_limit: asked('sample_count=100000'),
  filter_syntax: asked('filters=amount >> 5'),
  filter_column: asked('filters=amuont > 5'),
  filter_type: asked("filters=tags = 'whale'"),
  filter_value: asked("filters=amount > 'lots'"),
  filter_unsupported: asked("filters=lower(chain) = 'base'"),
  filter_limit: asked('filters=not not not amount = 5'),
  sort_syntax: asked('sort_by=amount down'),
  sort_column: asked('sort_by=amuont'),
  sort_type: asked('sort_by=tags'),
  sort_limit: asked('sort_by=chain,amount,wallet'),
  webhook_not_found: text('not found: Webhook not found, or not yours'),
  invalid_body: text('is_privat: no such field; did you mean is_private?'),
  invalid_result: text('the CSV is malformed at record 3: it has 3 fields, and the header has 2'),
  invalid_digest: text(
    'Content-Digest: found "md5=:1B2M2Y8AsgTpgAmY7PhCfg==:", expected sha-256 or sha-512, as in sha-256=:base64:',
  ),
  digest_mismatch: text(
    'Content-Digest: the body that arrived has sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:, expected sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:; nothing was changed',
  ),
  invalid_idempotency_key: text(
    'Idempotency-Key: found "", expected 1 to 255 printable characters, as in "8e03978e-40d5-43dd-bc93-6894a57f9324"',
  ),
  body_stalled: text('the body stopped after 65536 bytes: nothing came for 60 s, and nothing was changed'),
  conflict: text('there is a query 7 already'),
  illegal_transition: text(`execution ${EXECUTION_ID} is COMPLETED: it cannot become EXECUTING`, {
    state: formatState('COMPLETED'),
  }),
  idempotency_in_progress: text(
    'Idempotency-Key: the first request under "8e03978e" is still being carried out; ask again for its answer',
  ),
  body_too_large: text('the body has more than 1000000 bytes, which is the most'),
  unsupported_media_type: text('Content-Encoding: found "br", expected gzip, zstd or none'),
  idempotency_mismatch: text(
    'Idempotency-Key: "8e03978e" was sent before with another request; send another key with this one',
  ),
  too_many_uploads: text('this key sends 16 results already, and 16 is the most'),
  bad_request: text('the Host header is missing or is not a host name'),
  expectation_failed: text('Expect: found "200-ok", expected 100-continue or none'),
  precondition_failed: text(
    'If-Match: found "d1sk7", but the answer is another one now, of "KBbMPvyuRbiVrzHkM2ZLhwcGvWn"',
  ),
  range_not_satisfiable: text('Range: found a range that begins after the end, expected one within 1275083 bytes'),
  rate_limited: text('this key may ask 10 times a second; try again in 2 s'),
  overloaded: text('too many heavy reads are waiting; try again in some seconds'),
  catalog_unavailable: text('the catalog cannot be reached at the moment'),
  store_unavailable: text('the store of results cannot be reached at the moment'),
  engine_unavailable: text('what runs the queries cannot be reached at the moment'),
  not_ready: text('not ready: the store: its folder is gone'),
  taken_over: text('another process has taken this work over; nothing was changed here, ask again for its answer'),
  shutting_down: text('the service is stopping; try again in some seconds'),
  storage_full: text('a disk of the service is full; ask for less, or try again when there is room'),
  workspace_unavailable: text(
    'a folder of the service that this needs cannot be used; try again when that is mended, or ask for less, or for JSON or CSV, which may do without it',
  ),
  read_timeout: text('the read exceeded its limit of 60 s; ask for fewer rows or columns, or a simpler filter'),
  result_damaged: text('the stored result is damaged and cannot be read; run the query again'),
  internal: text(`internal error, request id ${REQUEST_ID}`),
};

/** Small, so that the examples that exceed them are short. */
const LIMITS: ExpressionLimits = { lengthMax: 200, termsMax: 10, depthMax: 2, inMembersMax: 10, sortKeysMax: 2 };
const DATAPOINTS_MAX = 250_000;

export interface ErrorExample {
  /** The parameters of a request that is answered so, where they are what is wrong. */
  readonly parameters: string | undefined;
  readonly body: Fragment;
}

export function errorExample(code: ErrorCode): ErrorExample {
  const example = EXAMPLES[code];
  switch (example.kind) {
    case 'text':
      return { parameters: undefined, body: { error: example.text, ...example.body } };
    case 'asked':
      return { parameters: example.parameters, body: { error: answerTo(example.parameters, code) } };
    default:
      return example satisfies never;
  }
}

function answerTo(parameters: string, code: ErrorCode): string {
  try {
    const shared = parseSharedParameters(parseQueryString(parameters));
    planRead(shared, 'json', EXAMPLE_RESULT_SET, { datapointsMax: DATAPOINTS_MAX, expressions: LIMITS });
  } catch (error) {
    if (error instanceof RequestError && error.code === code) return error.message;
    throw error;
  }
  throw new Error(`the example of ${code} is no error: ${parameters}`);
}

function text(words: string, body: Fragment = {}): Example {
  return { kind: 'text', text: words, body };
}

function asked(parameters: string): Example {
  return { kind: 'asked', parameters };
}
