/** Answers without rows: the envelope of an execution that has no result, and the status endpoint's. */
import { type Execution, type ExecutionState, formatState, STATES } from '../../domain/execution.ts';
import type { Instant } from '../../domain/instant.ts';
import type { ResultSet } from '../../domain/result-set.ts';
import { RequestError } from '../../errors/errors.ts';
import type { Answer } from '../answer.ts';
import { CONTENT_TYPES, FORMAT_NAMES, type Format } from '../request/format.ts';
import type { ResultsRequest } from '../request/results-request.ts';
import { cacheHeadersOf, etagOf, matchesEtag } from './cache-policy.ts';
import { envelopeOf, metadataOf } from './envelope.ts';

/** @throws RequestError no_result, in a format that has no place for an envelope */
export function respondWithoutResult(
  request: ResultsRequest,
  execution: Execution,
  state: ExecutionState,
  now: Instant,
): Answer {
  if (request.format === 'json') return envelopeAnswer(request, execution, state, envelopeOf(execution, state), now);
  const problem = `Query state is ${formatState(state)}, cannot provide ${FORMAT_NAMES[request.format]} result`;
  throw new RequestError('no_result', problem, { body: { state: formatState(state) } });
}

export interface Status {
  readonly execution: Execution;
  readonly state: ExecutionState;
  /** As the reader is to see it. */
  readonly shownState: ExecutionState;
  readonly resultSet: ResultSet | undefined;
  /** Of a run that is pending: its place among those of its kind. */
  readonly queuePosition: number | undefined;
}

/** The envelope without rows, what is known of the whole result, the place in the queue. */
export function respondStatus(request: ResultsRequest, status: Status, now: Instant): Answer {
  const { execution, state, shownState, resultSet, queuePosition } = status;
  const body = {
    ...envelopeOf(execution, shownState),
    ...(resultSet !== undefined && { result_metadata: metadataOf(execution, resultSet, resultSet) }),
    ...(queuePosition !== undefined && { queue_position: queuePosition }),
  };
  return envelopeAnswer(request, execution, state, body, now);
}

/** The client has it already. */
export function respondUnchanged(format: Format, etag: string, headers: Answer['headers']): Answer {
  return { contentType: CONTENT_TYPES[format], headers, etag, body: { kind: 'unchanged' } };
}

/** The envelope of a run that has not ended changes in a moment; that of a run that has ended stays until it expires. */
function envelopeAnswer(
  request: ResultsRequest,
  execution: Execution,
  state: ExecutionState,
  body: object,
  now: Instant,
): Answer {
  const text = JSON.stringify(body);
  const contentType = CONTENT_TYPES.json;
  const whole = { kind: 'whole', byteChunks: [Buffer.from(text)] } as const;
  if (!STATES[state].terminal) return { contentType, headers: { 'cache-control': 'no-store' }, body: whole };
  const etag = etagOf(text);
  const headers = {
    ...cacheHeadersOf(request.cachePolicy, { execution }, now),
    ...(state === 'EXPIRED' && { 'cache-control': 'private, no-cache' }),
  };
  if (matchesEtag(request.ifNoneMatch, etag)) return respondUnchanged(request.format, etag, headers);
  return { contentType, headers, etag, body: whole };
}
