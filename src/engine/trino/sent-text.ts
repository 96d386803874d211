/**
 * The text that Trino is sent for a query, and the way back: from a line and column of it to the place in the author's SQL. Trino counts
 * lines, and code points within a line, both from 1.
 */
import { type BoundSql, placeIn } from '../sql/bind-parameters.ts';
import type { ErrorContext } from './trino-errors.ts';

export interface SentText extends Pick<ErrorContext, 'placeOf' | 'parameterAt' | 'isBehind'> {
  readonly text: string;
}

/** @param rows `no_rows`: Trino says which columns the query has, and reads nothing */
export function sentText(sql: string, bound: BoundSql, rows: 'whole' | 'no_rows'): SentText {
  const [before, after] = rows === 'whole' ? ['', ''] : ['SELECT * FROM (\n', '\n) LIMIT 0'];
  const linesBefore = before.split('\n').length - 1;
  const lastLine = linesBefore + bound.text.split('\n').length;
  const isBehind = (line: number) => line > lastLine;
  const end = placeIn(sql, bound.originalOffset(bound.text.length));
  const offsetOf = (line: number, column: number) => offsetIn(bound.text, line - linesBefore, column);
  return {
    text: `${before}${bound.text}${after}`,
    isBehind,
    placeOf: (line, column) => {
      if (isBehind(line)) return end;
      const offset = offsetOf(line, column);
      return offset === undefined ? undefined : placeIn(sql, bound.originalOffset(offset));
    },
    parameterAt: (line, column) => {
      const offset = offsetOf(line, column);
      return offset === undefined ? undefined : bound.parameterAt(offset);
    },
  };
}

/** In UTF-16 units; undefined outside of the text. */
function offsetIn(text: string, line: number, column: number): number | undefined {
  const lines = text.split('\n');
  const found = lines[line - 1];
  if (found === undefined) return undefined;
  const start = lines.slice(0, line - 1).reduce((sum, { length }) => sum + length + 1, 0);
  return start + [...found].slice(0, column - 1).join('').length;
}
