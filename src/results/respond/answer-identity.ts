/**
 * All that the bytes of an answer depend on, as one text: equal texts mean equal bytes. The strong ETag and the caches of
 * answers use it as their key. So it must name everything that can change a byte: the stored result, the request and how it was
 * addressed (`next_uri`), the format, the settings that cut or present an answer, and the versions of everything that encodes
 * it.
 */
import { createHash } from 'node:crypto';
import type { QueryWords } from '../../domain/column-descriptions.ts';
import { type Execution, type ExecutionState, formatState } from '../../domain/execution.ts';
import { formatQueryString } from '../request/query-string.ts';
import type { ResultsRequest } from '../request/results-request.ts';

export interface AnswerSettings {
  /** The versions of the service and its engine: another version may spell a value differently. */
  readonly encoder: string;
  readonly datapointsMax: number;
}

/**
 * The key is not part of it: whether it may see the answer was checked before.
 * @param state the state that the answer shows
 * @param words what a Parquet file says of the query; undefined: the format says nothing of it
 */
export function answerIdentity(
  { parameters, format, base }: ResultsRequest,
  { id, expiresAt }: Execution,
  state: ExecutionState,
  { encoder, datapointsMax }: AnswerSettings,
  words: QueryWords | undefined,
): string {
  const asked = new Map(parameters);
  asked.delete('api_key');
  const said = words === undefined ? '' : ` ${hashOf(words)}`;
  const stored = `${id} ${formatState(state)} ${expiresAt}`;
  return `${encoder} ${stored} ${datapointsMax} ${format}${said} ${base}?${formatQueryString(asked)}`;
}

function hashOf(words: QueryWords): string {
  return createHash('sha256').update(JSON.stringify(words)).digest('base64url').slice(0, 22);
}
