/**
 * Whether rows keep the order of the files they are read from. DuckDB keeps it through scans, filters, projections, limits and
 * copies (`preserve_insertion_order`), and through nothing else: a join gives rows in any order, and DuckDB itself decides when
 * a filter becomes one, an `IN` of five values or more for example. So a statement that asks for no order is shown to the
 * planner first. Where its plan holds anything else, also an operator that a later version brings, the order is asked for.
 */
import type { DuckDb } from './duckdb.ts';
import type { RowOrder, Statement } from './statement.ts';

const ORDER_KEEPING: ReadonlySet<string> = new Set([
  'READ_CSV',
  'READ_JSON',
  'READ_JSON_OBJECTS',
  'READ_PARQUET',
  'FILTER',
  'PROJECTION',
  'LIMIT',
  'STREAMING_LIMIT',
  'COPY_TO_FILE',
  'BATCH_COPY_TO_FILE',
]);

/** An operator of a plan, as `EXPLAIN (FORMAT json)` prints it. */
interface Operator {
  readonly name: string;
  readonly children: readonly Operator[];
}

/**
 * @param statement reads files, and asks for no order
 * @throws as `duckDb.query` does; planning takes one to two milliseconds
 */
export async function rowOrderOf(duckDb: DuckDb, statement: Statement, signal: AbortSignal): Promise<RowOrder> {
  const operators = await planOf(duckDb, statement, signal);
  return operators?.every((name) => ORDER_KEEPING.has(name)) === true ? 'kept' : 'asked';
}

/** The statement that takes stored order from its plan, or else the one that asks for it. */
export async function inStoredOrder(
  duckDb: DuckDb,
  compile: (order: RowOrder) => Statement,
  signal: AbortSignal,
): Promise<Statement> {
  const statement = compile('kept');
  return (await rowOrderOf(duckDb, statement, signal)) === 'kept' ? statement : compile('asked');
}

/** Shapes whose plans keep the order, the oldest first. */
const KEEPING_SHAPES = new Set<string>();
const KEEPING_SHAPES_MAX = 200;
const SHAPE_LENGTH_MAX = 16_384;

/**
 * @param shape the text of the statement without what names its files. DuckDB decides by the text alone what operators it needs for a
 *   scan whose rows are converted, so a shape is looked at once
 * @throws Error where the plan of a statement that can ask for no order does not keep that of the file it reads
 */
export async function requireStoredOrder(
  duckDb: DuckDb,
  statement: Statement,
  shape: string,
  signal: AbortSignal,
): Promise<void> {
  if (KEEPING_SHAPES.has(shape)) return;
  if ((await rowOrderOf(duckDb, statement, signal)) === 'kept') {
    if (shape.length > SHAPE_LENGTH_MAX) return;
    const [oldest = shape] = KEEPING_SHAPES;
    if (KEEPING_SHAPES.size >= KEEPING_SHAPES_MAX) KEEPING_SHAPES.delete(oldest);
    KEEPING_SHAPES.add(shape);
    return;
  }
  const plan = (await planOf(duckDb, statement, signal)) ?? ['a join'];
  throw new Error(`DuckDB plans the reading of the file so that rows lose their order: ${plan.join(' < ')}`);
}

/** The operators of the statement's plan, the last one first; undefined where the plan is no chain of them. */
export async function planOf(
  duckDb: DuckDb,
  { text, values }: Statement,
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  const [row] = await duckDb.query({ text: `EXPLAIN (FORMAT json) ${text}`, values }, signal);
  const operators: string[] = [];
  let level: readonly Operator[] = JSON.parse(String(row?.[1]));
  for (let [operator] = level; operator !== undefined; [operator] = level) {
    if (level.length > 1) return undefined;
    operators.push(operator.name.trim());
    level = operator.children;
  }
  return operators;
}
