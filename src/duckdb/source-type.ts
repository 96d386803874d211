/**
 * What a column of a Parquet file becomes when it is published: the column type (contract §6), and the SQL that turns a value
 * as DuckDB reads it into the stored representation (storage-type.ts). Nothing is lost on the way: a type with no counterpart
 * becomes text, and a value that DuckDB reads as another, or could not print, ends the statement.
 */
import { type DuckDBType, DuckDBTypeId } from '@duckdb/node-api';
import { COLUMN_TYPE_DEPTH_MAX, type ColumnType } from '../domain/column-type.ts';
import { bareLeafType } from './bare-leaf.ts';
import { type ParquetNode, unwrap } from './parquet-schema.ts';
import { quoteText } from './quoting.ts';
import { scalarConversion } from './scalar-conversion.ts';
import { storedField } from './storage-type.ts';
import { type ConversionOptions, cast, type StoredConversion, same } from './stored-conversion.ts';
import { countOfKeys } from './text-value.ts';

/** What is wrong with the schema of a column, to stand behind its name. */
export class SchemaProblem extends Error {}

/**
 * @param source as DuckDB reads the column
 * @param node the column in the file's own schema
 * @throws SchemaProblem when the two do not fit each other, a row (struct) has two fields of one name, or the column is nested too deep
 */
export function sourceTypeOf(source: DuckDBType, node: ParquetNode, options: ConversionOptions): StoredConversion {
  return convert(source, unwrap(node), options, 0);
}

/** @param node unwrapped */
function convert(source: DuckDBType, node: ParquetNode, options: ConversionOptions, depth: number): StoredConversion {
  if (depth > COLUMN_TYPE_DEPTH_MAX) throw new SchemaProblem(`is nested more than ${COLUMN_TYPE_DEPTH_MAX} deep`);
  const bare = node.leaf?.bare;
  if (bare !== undefined && !isNested(source)) return bareLeafType(bare, options.asNanos, options.fail);
  switch (source.typeId) {
    case DuckDBTypeId.LIST:
    case DuckDBTypeId.ARRAY: {
      const element = convert(source.valueType, node, options, depth + 1);
      return listOf(element, source.typeId === DuckDBTypeId.ARRAY, depth);
    }
    case DuckDBTypeId.MAP: {
      const [key, value] = childrenOf(node, 2).map(unwrap);
      return mapOf(
        convert(source.keyType, key ?? node, options, depth + 1),
        convert(source.valueType, value ?? node, options, depth + 1),
        options,
        depth,
      );
    }
    case DuckDBTypeId.STRUCT:
      return rowOf(source.entryNames, source.entryTypes, node, options, depth);
    default:
      return scalarConversion(source, node.leaf?.millis === true ? 3 : 6, options);
  }
}

function isNested({ typeId }: DuckDBType): boolean {
  return [DuckDBTypeId.LIST, DuckDBTypeId.ARRAY, DuckDBTypeId.MAP, DuckDBTypeId.STRUCT].includes(typeId);
}

function childrenOf(node: ParquetNode, count: number): readonly ParquetNode[] {
  if (node.children.length === count) return node.children;
  throw new SchemaProblem(`has a schema that cannot be followed at ${JSON.stringify(node.name)}`);
}

function isSame(source: StoredConversion): boolean {
  return source.stored('x') === 'x';
}

function listOf(element: StoredConversion, fixedLength: boolean, depth: number): StoredConversion {
  const type: ColumnType = { kind: 'array', element: element.type };
  if (isSame(element)) return fixedLength ? cast(type) : same(type);
  return { type, stored: (expression) => eachOf(element, expression, depth) };
}

/** Parquet has maps in which a key repeats; JSON has no such objects, and DuckDB fails on them later. */
function mapOf(
  key: StoredConversion,
  value: StoredConversion,
  { fail }: ConversionOptions,
  depth: number,
): StoredConversion {
  const type: ColumnType = { kind: 'map', key: key.type, value: value.type };
  return {
    type,
    stored: (expression) => {
      const keys = `map_keys(${expression})`;
      const repeated = `${countOfKeys(key.type, keys)} < len(${keys})`;
      const values = eachOf(value, `map_values(${expression})`, depth);
      const map = isSame(key) && isSame(value) ? expression : `map(${eachOf(key, keys, depth)}, ${values})`;
      return `CASE WHEN ${expression} IS NULL THEN NULL WHEN ${repeated} THEN ${fail(`'a map with a key twice'`)} ELSE ${map} END`;
    },
  };
}

function rowOf(
  shown: readonly string[],
  types: readonly DuckDBType[],
  node: ParquetNode,
  options: ConversionOptions,
  depth: number,
): StoredConversion {
  // A struct of one field was unwrapped with what is in it, and its one name is as it is in the file.
  const fieldNodes = types.length === 1 ? [node] : childrenOf(node, types.length);
  const names = types.length === 1 ? shown : fieldNodes.map(({ name }) => name);
  const nodes = fieldNodes.map(unwrap);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new SchemaProblem(`has the field name ${JSON.stringify(twice)} twice in one struct`);
  const fields = types.map((type, i) => convert(type, nodes[i] ?? node, options, depth + 1));
  return {
    type: { kind: 'row', fields: fields.map((field, i) => ({ name: names[i] ?? '', type: field.type })) },
    stored: (expression) => {
      const entries = fields.map((field, i) => `${storedField(i)} := ${field.stored(fieldOf(expression, i))}`);
      return `CASE WHEN ${expression} IS NOT NULL THEN struct_pack(${entries.join(', ')}) END`;
    },
  };
}

/** By position: DuckDB finds names without regard to case. */
function fieldOf(expression: string, index: number): string {
  return `struct_extract_at(${expression}, ${index + 1})`;
}

function eachOf(element: StoredConversion, expression: string, depth: number): string {
  const member = `e${depth}`;
  return `list_transform(${expression}, lambda ${member}: ${element.stored(member)})`;
}

/** SQL that ends the statement with an error that carries `mark` and the value that did not fit. */
export function invalidValue(mark: string, expression: string): string {
  // An error without a text is none, and would leave the value out.
  return `error(${quoteText(mark)} || coalesce(CAST(${expression} AS VARCHAR), ''))`;
}
