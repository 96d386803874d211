/** The state of a run as a word with a colour; and a time, written for people. */
import { ago, when } from '../numbers.ts';

const WORDS: Readonly<Record<string, readonly [word: string, tone: string]>> = {
  QUERY_STATE_PENDING: ['waiting', 'busy'],
  QUERY_STATE_EXECUTING: ['running', 'busy'],
  QUERY_STATE_COMPLETED: ['completed', 'good'],
  QUERY_STATE_COMPLETED_PARTIAL: ['truncated', 'warn'],
  QUERY_STATE_FAILED: ['failed', 'bad'],
  QUERY_STATE_CANCELLED: ['cancelled', 'plain'],
  QUERY_STATE_EXPIRED: ['expired', 'plain'],
};

export function State({ state }: { readonly state: string }) {
  const [word, tone] = WORDS[state] ?? [state, 'plain'];
  return <span class={`state ${tone}`}>{word}</span>;
}

export function Moment({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={when(at)}>
      {ago(at)}
    </time>
  );
}
