/** Answers without rows: the envelope of an execution without a result, and the answers of the status endpoint. */
import { type Execution, type ExecutionState, formatState, STATES } from '../../domain/execution.ts';
import type { Instant } from '../../domain/instant.ts';
import type { ResultSet } from '../../domain/result-set.ts';
import { progressRecord, type RunProgress } from '../../domain/run-progress.ts';
import { RequestError } from '../../errors/errors.ts';
import type { Answer } from '../answer.ts';
import { CONTENT_TYPES, FORMAT_NAMES, type Format } from '../request/format.ts';
import type { ResultsRequest } from '../request/results-request.ts';
import { cacheHeadersOf, etagOf, matchesEtag } from './cache-policy.ts';
import { envelopeOf, metadataOf, runEnvelopeOf } from './envelope.ts';

/** @throws RequestError no_result, in a format that cannot carry an envelope */
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
  /** The state that the reader is shown, see partial-result.ts. */
  readonly shownState: ExecutionState;
  readonly resultSet: ResultSet | undefined;
  /** Of a pending run: its place in the queue, from 1. */
  readonly queuePosition: number | undefined;
  /** Of a run that goes on. */
  readonly progress: RunProgress | undefined;
}

/** The envelope without rows, with what else is known of the run. */
export function respondStatus(request: ResultsRequest, status: Status, now: Instant): Answer {
  const { execution, state, shownState, resultSet, queuePosition, progress } = status;
  const body = {
    ...runEnvelopeOf(execution, shownState),
    ...(resultSet !== undefined && { result_metadata: metadataOf(execution, resultSet, resultSet) }),
    ...(queuePosition !== undefined && { queue_position: queuePosition }),
    ...(progress !== undefined && { progress: progressRecord(progress) }),
  };
  return envelopeAnswer(request, execution, state, body, now);
}

/** For a client that has the answer already. */
export function respondUnchanged(format: Format, etag: string, headers: Answer['headers']): Answer {
  return { contentType: CONTENT_TYPES[format], headers, etag, body: { kind: 'unchanged' } };
}

/** The envelope of a run that has not ended changes at any moment. After the end it stays the same until it expires. */
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
  // A dataset without a result may have one before its next refresh is due: who mends what failed refreshes it at once.
  const isPassing = state === 'EXPIRED' || request.cachePolicy.kind === 'until';
  const headers = {
    ...cacheHeadersOf(request.cachePolicy, { execution }, now),
    ...(isPassing && { 'cache-control': 'private, no-cache' }),
  };
  if (matchesEtag(request.ifNoneMatch, etag)) return respondUnchanged(request.format, etag, headers);
  return { contentType, headers, etag, body: whole };
}
