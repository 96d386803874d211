/** The columns of a source of text (CSV fields, JSON tokens): declared types as declared, the others from the evidence. */
import type { ColumnType } from '../domain/column-type.ts';
import { textToStored } from '../duckdb/text-value.ts';
import { type Evidence, evidenceColumns, evidenceOf, inferredValue, resolve } from './inference.ts';
import { failIn, type Source, type SourceColumn, type SourceContext, statementOver } from './source.ts';

/** Rows that types are first inferred from. All others are checked as they are converted. */
export const SAMPLE_ROWS = 20_000;

/**
 * What kinds of values each column holds.
 * @param columns SQL for each column's text
 */
export async function findEvidence(
  context: SourceContext,
  source: Pick<Source, 'relation' | 'path'>,
  columns: readonly string[],
  everyRow: boolean,
  signal: AbortSignal,
): Promise<readonly Evidence[]> {
  if (columns.length === 0) return [];
  const inner = columns.map((column, i) => `${column} AS t${i}`).join(', ');
  const relation = `(SELECT ${inner} FROM ${source.relation}${everyRow ? '' : ` LIMIT ${SAMPLE_ROWS}`})`;
  const expressions = columns.map((_, i) => evidenceColumns(`t${i}`));
  const statement = statementOver({ ...source, relation }, expressions.flat().join(', '));
  const [row = []] = await context.duckDb.query(statement, signal);
  let at = 0;
  return expressions.map((expression) => {
    const values = row.slice(at, at + expression.length);
    at += expression.length;
    return evidenceOf(values);
  });
}

/** A column of plain text. Without evidence its type was declared. */
export function textColumn(
  name: string,
  index: number,
  declared: ColumnType | undefined,
  evidence?: Evidence,
): SourceColumn {
  const raw = `s${index}`;
  const fail = failIn(index, raw);
  if (declared !== undefined) {
    return { name, type: declared, raw, stored: textToStored(declared, raw, fail), inferred: false };
  }
  const resolved = evidence === undefined ? 'nested' : resolve(evidence);
  const type: ColumnType = resolved === 'nested' ? { kind: 'varchar' } : resolved;
  return { name, type, raw, ...inferredValue(type, raw, `p${index}`, fail), inferred: true };
}
