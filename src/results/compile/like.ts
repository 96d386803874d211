/**
 * LIKE without DuckDB's LIKE, which backtracks: `'%a%a_%b'` against one text of 4,000 characters did not end within ten minutes,
 * and cannot be interrupted. The common shapes are functions of their own; the others are given to DuckDB's regular
 * expressions (RE2), which are linear in the text, at a third of the speed.
 *
 * `ilike` compares what `lower` makes of both sides, one character for one.
 */
import type { Parameters } from '../../duckdb/parameters.ts';
import type { LikePart, LikePattern } from '../plan/literals/pattern.ts';

export function compileLike(
  stored: string,
  pattern: LikePattern,
  caseInsensitive: boolean,
  parameters: Parameters,
): string {
  const fold = (sql: string) => (caseInsensitive ? `lower(${sql})` : sql);
  const parameter = (text: string) => fold(parameters.add(text));
  const [text, ...others] = pattern.flatMap((part) => (part.kind === 'text' ? [part.text] : []));
  if (others.length === 0) {
    switch (pattern.map(({ kind }) => kind).join(' ')) {
      case '':
      case 'text':
        return `${fold(stored)} = ${parameter(text ?? '')}`;
      case 'text any':
        // Not starts_with, which DuckDB does not turn into a range that skips row groups.
        return `prefix(${fold(stored)}, ${parameter(text ?? '')})`;
      case 'any text':
        return `ends_with(${fold(stored)}, ${parameter(text ?? '')})`;
      case 'any':
      case 'any text any':
        return `contains(${fold(stored)}, ${parameter(text ?? '')})`;
    }
  }
  return `regexp_full_match(${fold(stored)}, ${parameter(pattern.map(regularExpression).join(''))}, 's')`;
}

function regularExpression(part: LikePart): string {
  switch (part.kind) {
    case 'text':
      return part.text.replace(/[!-/:-@[-`{-~]/g, '\\$&');
    case 'one':
      return '.';
    case 'any':
      return '.*';
    default:
      return part satisfies never;
  }
}
