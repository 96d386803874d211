/** The columns of a source of text (CSV fields, JSON tokens): declared types as declared, the others from the evidence. */
import type { ColumnType } from '../domain/column-type.ts';
import { textToStored } from '../duckdb/text-value.ts';
import { type Evidence, evidenceColumns, evidenceOf, inferredValue, resolve } from './inference.ts';
import { failIn, type Source, type SourceColumn, type SourceContext, statementOver } from './source.ts';

/** Rows that types are first inferred from. All others are checked as they are converted. */
export const SAMPLE_ROWS = 20_000;

/**
 * What kinds of values each column holds whose type is not declared; for the others there is none.
 * @param source its columns are the texts s0, s1, … in the order of `names`
 */
export async function findEvidence(
  context: SourceContext,
  source: Pick<Source, 'relation' | 'path'>,
  names: readonly string[],
  everyRow: boolean,
  signal: AbortSignal,
): Promise<readonly (Evidence | undefined)[]> {
  const expressions = names.map((name, i) => (context.types.has(name) ? [] : evidenceColumns(`s${i}`)));
  const inner = names.flatMap((name, i) => (context.types.has(name) ? [] : [`s${i}`])).join(', ');
  if (inner === '') return [];
  const relation = `(SELECT ${inner} FROM ${source.relation}${everyRow ? '' : ` LIMIT ${SAMPLE_ROWS}`})`;
  const statement = statementOver({ ...source, relation }, expressions.flat().join(', '));
  const [row = []] = await context.duckDb.query(statement, signal);
  let at = 0;
  return expressions.map((expression) => {
    if (expression.length === 0) return undefined;
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
