/**
 * What the bytes of an answer depend on, as one text: equal texts, equal bytes. The strong ETag and everything that is kept to be
 * given again are known by it, so whatever can change a byte belongs here: the stored result, what was asked for and how it was
 * addressed (`next_uri`), the format, the settings that cut or present an answer, and the versions of all that encodes it.
 */
import { type Execution, type ExecutionState, formatState } from '../../domain/execution.ts';
import { formatQueryString } from '../request/query-string.ts';
import type { ResultsRequest } from '../request/results-request.ts';

export interface AnswerSettings {
  /** The service's version and its engine's: either may spell a value in another way. */
  readonly encoder: string;
  readonly datapointsMax: number;
}

/**
 * The key is no part of it: whether it may see the answer has been checked.
 * @param state as the answer shows it
 */
export function answerIdentity(
  { parameters, format, base }: ResultsRequest,
  { id, expiresAt }: Execution,
  state: ExecutionState,
  { encoder, datapointsMax }: AnswerSettings,
): string {
  const asked = new Map(parameters);
  asked.delete('api_key');
  const stored = `${id} ${formatState(state)} ${expiresAt}`;
  return `${encoder} ${stored} ${datapointsMax} ${format} ${base}?${formatQueryString(asked)}`;
}
