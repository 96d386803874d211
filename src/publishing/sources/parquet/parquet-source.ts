/**
 * A Parquet file as a source: its own types (duckdb/source-type.ts) unless declared, its own names even where DuckDB renames.
 * Where DuckDB would round values, a copy of the file is read whose footer says less (parquet-footer.ts).
 */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ColumnType } from '../../../domain/column-type.ts';
import { formatColumnType, isNested, parseColumnType } from '../../../domain/column-type.ts';
import type { DescribedColumn } from '../../../duckdb/duckdb.ts';
import { escapeGlob } from '../../../duckdb/escape-glob.ts';
import { jsonValueOf, plainText } from '../../../duckdb/json-value.ts';
import { bareLeaves, type ParquetNode, readSchema, schemaStatement } from '../../../duckdb/parquet-schema.ts';
import { TYPES_KEY, typeInParquet } from '../../../duckdb/parquet-value.ts';
import { quoteText } from '../../../duckdb/quoting.ts';
import { SchemaProblem, sourceTypeOf } from '../../../duckdb/source-type.ts';
import { storageType } from '../../../duckdb/storage-type.ts';
import type { StoredConversion } from '../../../duckdb/stored-conversion.ts';
import { jsonToStored, textToStored } from '../../../duckdb/text-value.ts';
import { PublishError } from '../../publish-error.ts';
import { checkNames } from '../column-names.ts';
import { whyNotParquet } from '../in-our-words.ts';
import { failIn, opened, type Source, type SourceColumn, type SourceContext, statementOver } from '../source.ts';
import { checkPageChecksums } from './page-checksums.ts';
import { copyWithBareLeaves } from './parquet-footer.ts';
import { inRowGroup, type RowGroup, readRowGroups } from './row-groups.ts';
import { checkSchemaDepth } from './schema-depth.ts';

/** @throws PublishError when the file is not Parquet, or a column of it cannot be stored. */
export async function openParquet(context: SourceContext, signal: AbortSignal): Promise<Source> {
  return await opened(
    () => openColumns(context, true, signal),
    async (error) => explainParquet(error),
    signal,
  );
}

/** @param told whether to believe what the file says of our types */
async function openColumns(context: SourceContext, told: boolean, signal: AbortSignal): Promise<Source> {
  const { duckDb, types } = context;
  await checkSchemaDepth(context.file, signal);
  const nodes = readSchema(await duckDb.query(schemaStatement(context.path), signal));
  checkNames(nodes.map(({ name }) => name));
  const path = await exactFile(context, nodes);
  const read = 'read_parquet($1, hive_partitioning = false)';
  const described = await duckDb.describe({ text: `SELECT * FROM ${read} LIMIT 0`, values: [path] }, signal);
  if (nodes.length !== described.length) {
    throw new PublishError(`the file says it has ${nodes.length} columns and holds ${described.length}`);
  }
  // By position: DuckDB finds names without regard to case, and reserves some.
  const relation = `${read} AS s(${nodes.map((_, i) => `s${i}`).join(', ')})`;
  const toldTypes = told ? await findToldTypes(context, nodes.length, signal) : [];
  const source: Source = {
    relation,
    path,
    columns: nodes.map((node, i) =>
      column(node, i, described[i], { declared: types.get(node.name), told: toldTypes[i] }),
    ),
    count: async (during) => {
      const text = 'SELECT num_rows FROM parquet_file_metadata($1)';
      const [[rows] = []] = await duckDb.query({ text, values: [path] }, during);
      return Number(rows);
    },
    check: async (during) => {
      await checkPageChecksums(duckDb, context, during);
      return undefined;
    },
    widen: (during) => openColumns(context, false, during),
    explain: (error, during) => explainColumn(error, context, source, during),
  };
  return source;
}

/** The path of the file, or of a copy in which all that DuckDB would round is bare. */
async function exactFile(context: SourceContext, nodes: readonly ParquetNode[]): Promise<string> {
  const bare = bareLeaves(nodes);
  if (bare.length === 0) return context.path;
  const copy = join(context.scratch, 'bare.parquet');
  await context.staged.take((await stat(context.file)).size);
  await copyWithBareLeaves(context.file, copy, new Set(bare));
  return escapeGlob(copy);
}

interface KnownTypes {
  readonly declared: ColumnType | undefined;
  /** As the file says of itself. */
  readonly told: ColumnType | undefined;
}

function column(
  node: ParquetNode,
  index: number,
  described: DescribedColumn | undefined,
  { declared, told }: KnownTypes,
): SourceColumn {
  const { name } = node;
  const expression = `s${index}`;
  const fail = (text: string) => failIn(index, text);
  const natural = typeOf(node, described, false, fail);
  const fits = told !== undefined && isSame(typeInParquet(told), natural.type);
  const type = declared ?? (fits ? told : natural.type);
  if (isSame(type, natural.type)) {
    const raw = natural.shown?.(expression) ?? 'NULL';
    return { name, type: natural.type, raw, stored: natural.stored(expression), inferred: false };
  }
  const exact = typeOf(node, described, declared !== undefined, fail);
  const text = textOf(withExactDoubles(exact, type), expression);
  const stored = isNested(exact.type)
    ? jsonToStored(type, text, fail(text), false)
    : textToStored(type, text, fail(text));
  return { name, type, raw: text, stored, inferred: declared === undefined };
}

function isSame(a: ColumnType, b: ColumnType): boolean {
  return formatColumnType(a) === formatColumnType(b);
}

/** The types of the columns as the service wrote them into a file of its own; none for any other file. */
async function findToldTypes(
  { duckDb, path }: SourceContext,
  count: number,
  signal: AbortSignal,
): Promise<readonly ColumnType[]> {
  const text = 'SELECT decode(value) FROM parquet_kv_metadata($1) WHERE key = encode($2)';
  const [[told] = []] = await duckDb.query({ text, values: [path, TYPES_KEY] }, signal);
  if (typeof told !== 'string') return [];
  try {
    const types = (JSON.parse(told) as readonly string[]).map(parseColumnType);
    return types.length === count ? types : [];
  } catch {
    // Not ours after all: the file says enough by itself.
    return [];
  }
}

function typeOf(
  node: ParquetNode,
  described: DescribedColumn | undefined,
  asNanos: boolean,
  fail: (text: string) => string,
): StoredConversion {
  if (described === undefined) throw new TypeError('every column was described');
  try {
    return sourceTypeOf(described.type, node, { asNanos, fail });
  } catch (error) {
    if (!(error instanceof SchemaProblem)) throw error;
    throw new PublishError(`column ${JSON.stringify(node.name)} ${error.message}`);
  }
}

/**
 * A float of 32 bits that is to be a double becomes that very number, as in every database. By way of its shortest text 2^60 would become
 * 1152921500000000000: that text only tells one float from another, and there are more doubles.
 */
function withExactDoubles(source: StoredConversion, wanted: ColumnType): StoredConversion {
  const type = widenReals(source.type, wanted);
  if (isSame(type, source.type)) return source;
  return { ...source, type, stored: (expression) => `CAST(${source.stored(expression)} AS ${storageType(type)})` };
}

/** The type, in which each real is a double that `wanted` has as one. */
function widenReals(type: ColumnType, wanted: ColumnType): ColumnType {
  if (type.kind === 'real' && wanted.kind === 'double') return wanted;
  if (type.kind === 'array' && wanted.kind === 'array') {
    return { kind: 'array', element: widenReals(type.element, wanted.element) };
  }
  if (type.kind === 'map' && wanted.kind === 'map') {
    return { kind: 'map', key: widenReals(type.key, wanted.key), value: widenReals(type.value, wanted.value) };
  }
  if (type.kind === 'row' && wanted.kind === 'row') {
    const fields = type.fields.map((field) => {
      const other = wanted.fields.find(({ name }) => name === field.name);
      return other === undefined ? field : { ...field, type: widenReals(field.type, other.type) };
    });
    return { kind: 'row', fields };
  }
  return type;
}

/** SQL for a value as the service would answer with it. */
function textOf({ type, stored }: StoredConversion, expression: string): string {
  const value = stored(expression);
  if (!isNested(type)) return plainText(type, value);
  const json = `to_json(${jsonValueOf(type, value, { add: quoteText })})::VARCHAR`;
  return `CASE WHEN ${expression} IS NOT NULL THEN ${json} END`;
}

/** DuckDB does not say which column it could not read, so each is read alone. */
async function explainColumn(
  error: Error,
  { duckDb }: SourceContext,
  source: Source,
  signal: AbortSignal,
): Promise<Error> {
  const explained = explainParquet(error);
  for (const [index, { name }] of source.columns.entries()) {
    try {
      await duckDb.query(statementOver(source, `count(hash(s${index}))`), signal);
    } catch (found) {
      signal.throwIfAborted();
      const reason = found instanceof Error ? explainParquet(found).message : '';
      const where = await damagedGroup(source, `s${index}`, duckDb, signal);
      return new PublishError(`column ${JSON.stringify(name)}${where}: ${reason}`);
    }
  }
  return explained;
}

/**
 * The first row group of which the column cannot be read, to stand behind its name. It is found by halving: a LIMIT leaves out the row groups
 * behind it.
 */
async function damagedGroup(
  source: Source,
  column: string,
  duckDb: SourceContext['duckDb'],
  signal: AbortSignal,
): Promise<string> {
  try {
    const groups = await readRowGroups(duckDb, source.path, signal);
    if (groups.length < 2) return '';
    const isReadable = async ({ firstRow, rowCount }: RowGroup) => {
      const relation = `(SELECT ${column} FROM ${source.relation} LIMIT ${firstRow + rowCount})`;
      const read = duckDb.query(statementOver({ ...source, relation }, `count(hash(${column}))`), signal);
      return await read.then(
        () => true,
        () => false,
      );
    };
    let [low, high] = [0, groups.length - 1];
    while (low < high) {
      signal.throwIfAborted();
      const middle = Math.floor((low + high) / 2);
      if (await isReadable(groups[middle] as RowGroup)) low = middle + 1;
      else high = middle;
    }
    return inRowGroup(groups, low);
  } catch {
    signal.throwIfAborted();
    return '';
  }
}

function explainParquet(error: Error): Error {
  if (!/Invalid|IO Error|Parquet|Serialization|Conversion Error|Not implemented/i.test(error.message)) return error;
  if (/[Mm]agic bytes|too small to be a Parquet/.test(error.message)) {
    return new PublishError('the file is not Parquet, or its end is missing');
  }
  return new PublishError(`the Parquet file cannot be read: ${whyNotParquet(error.message)}`, { cause: error });
}
