/**
 * What a user's statement may be made of: one SELECT over source tables, and functions that compute. Decided on the tree that
 * DuckDB's own parser makes of it (`json_serialize_sql`), before anything of it is bound: a kind of table, node or function
 * that is not known here is refused. The lock-down of the instance (duckdb.ts) holds behind it.
 */
import { ownWords, quotedWords } from './engine-words.ts';
import { REFUSED_FUNCTIONS, TABLE_FUNCTIONS } from './functions.ts';

export interface CheckedStatement {
  /** The source tables it reads, `schema.table` in lower case, each once. */
  readonly tables: readonly string[];
}

/** Where in a text: DuckDB's tree counts bytes, its parser code points. */
export interface StatementPlace {
  readonly offset: number;
  readonly unit: 'bytes' | 'code_points';
}

/** Why a statement is refused, and where, where that is known. */
export class RefusedStatement extends Error {
  readonly place: StatementPlace | undefined;

  constructor(message: string, place?: StatementPlace) {
    super(message);
    this.place = place;
  }
}

type Node = Readonly<Record<string, unknown>>;

const QUERY_NODES = ['SELECT_NODE', 'SET_OPERATION_NODE', 'RECURSIVE_CTE_NODE', 'CTE_NODE'];
const TABLE_KINDS = ['EMPTY', 'BASE_TABLE', 'JOIN', 'SUBQUERY', 'TABLE_FUNCTION', 'EXPRESSION_LIST', 'PIVOT'];
/** Views and tables of DuckDB's own that a name without a schema may reach. */
const INTERNAL_TABLE = /^(?:duckdb_|pragma_|sqlite_|pg_)/;
const INTERNAL_SCHEMAS = ['main', 'temp', 'system', 'information_schema', 'pg_catalog'];
/** Where DuckDB knows no place. */
const NO_PLACE = 2 ** 53;

/**
 * @param tree what `json_serialize_sql` made of the statement
 * @throws RefusedStatement
 */
export function checkStatement(tree: string): CheckedStatement {
  const parsed = parsedTree(tree);
  if (parsed.error === true && parsed.error_type === 'parser') {
    const place = { offset: Number(parsed.position), unit: 'code_points' } as const;
    const said = String(parsed.error_message).slice(0, 2000);
    throw new RefusedStatement(ownWords(said) ?? quotedWords(said), parsed.position === undefined ? undefined : place);
  }
  if (parsed.error === true) throw new RefusedStatement('a query is one SELECT, and nothing else');
  const statements = parsed.statements as readonly Node[];
  if (statements.length !== 1) {
    throw new RefusedStatement(`a query is one SELECT: found ${statements.length || 'no'} statements`);
  }
  const nodes = [...nodesOf(statements)];
  const named = new Set(nodes.flatMap(commonTables));
  const tables = new Set<string>();
  for (const node of nodes) {
    checkNode(node);
    if (node.type === 'BASE_TABLE') {
      const table = tableOf(node, named);
      if (table !== undefined) tables.add(table);
    }
  }
  return { tables: [...tables] };
}

/** Of a number beyond all doubles DuckDB writes no JSON. */
function parsedTree(tree: string): Node {
  try {
    return JSON.parse(tree) as Node;
  } catch {
    throw new RefusedStatement('a number in the SQL is too large for any type');
  }
}

/** Every object of the tree, without recursion: how deep a user nests is none of our stack's business. */
function* nodesOf(tree: unknown): Generator<Node> {
  const left: unknown[] = [tree];
  while (left.length > 0) {
    const value = left.pop();
    if (typeof value !== 'object' || value === null) continue;
    if (!Array.isArray(value)) yield value as Node;
    for (const child of Object.values(value)) left.push(child);
  }
}

function checkNode(node: Node): void {
  const type = String(node.type);
  // A node of a query has common tables, a table a sample, an expression a class.
  if ('cte_map' in node && !QUERY_NODES.includes(type)) throw refused(`a query cannot hold ${type}`, node);
  const isTable = 'sample' in node && 'alias' in node && !('cte_map' in node);
  if (isTable && !TABLE_KINDS.includes(type)) {
    throw refused(
      type === 'SHOW_REF' ? 'a query cannot describe, show or summarize: SELECT' : `a query cannot read ${type}`,
      node,
    );
  }
  if (type === 'TABLE_FUNCTION') {
    const name = functionName(node.function as Node);
    if (!TABLE_FUNCTIONS.has(name)) {
      throw refused(`a query cannot read from ${name}(): it reads source tables, schema.table`, node);
    }
  }
  if ('function_name' in node && REFUSED_FUNCTIONS.test(functionName(node))) {
    throw refused(`a query cannot call ${functionName(node)}()`, node);
  }
}

function functionName(node: Node): string {
  return String(node.function_name).toLowerCase();
}

function commonTables(node: Node): readonly string[] {
  const map = (node.cte_map as Node | undefined)?.map;
  const names = Array.isArray(map) ? map.map(({ key }: Node) => String(key).toLowerCase()) : [];
  return typeof node.cte_name === 'string' ? [...names, node.cte_name.toLowerCase()] : names;
}

/** @returns the source table, or undefined for one of the statement's own (WITH). */
function tableOf(node: Node, named: ReadonlySet<string>): string | undefined {
  const [catalog, schema, name] = [node.catalog_name, node.schema_name, node.table_name].map((part) =>
    String(part).toLowerCase(),
  );
  if (schema === '') {
    if (named.has(name ?? '') && !INTERNAL_TABLE.test(name ?? '')) return undefined;
    throw refused(`there is no table ${name}: a source table is written schema.table`, node);
  }
  const whole = [catalog, schema, name].filter((part) => part !== '').join('.');
  if (catalog !== '' || INTERNAL_SCHEMAS.includes(schema ?? '')) {
    throw refused(`a query cannot read ${whole}: it reads source tables, schema.table`, node);
  }
  return whole;
}

function refused(message: string, node: Node): RefusedStatement {
  const at = Number(node.query_location);
  return new RefusedStatement(message, at < NO_PLACE ? { offset: at, unit: 'bytes' } : undefined);
}
