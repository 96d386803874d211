/** Columns of objects and lists: rows and arrays where the shapes of their values agree, which all columns are asked for at once. */
import { type ColumnType, formatColumnType } from '../../../domain/column-type.ts';
import { jsonToStored } from '../../../duckdb/text-value.ts';
import {
  columnReadAs,
  invalidValueOf,
  rawValuesOf,
  type Source,
  type SourceColumn,
  type SourceContext,
  statementOver,
} from '../source.ts';
import { sampleRows } from '../text-columns.ts';
import { MEMBERS_MAX, typeOfStructures } from './json-structure.ts';

/** A column whose values have more shapes than this is json: as a row it would be mostly nulls. */
const SHAPES_MAX = 1000;
/** Far more than a type has: what is deeper is json anyway. */
const LEVELS_MAX = 100;
/** A shape with more bytes has more members than a row, or keys that are no names. */
const SHAPE_BYTES_MAX = 100_000;
/** So many shapes, of whatever columns, are held at a time. */
const SHAPES_AT_ONCE = 50_000;

interface NestedRows {
  /** The columns are the texts s0, s1, … in the order of `keys`. */
  readonly rows: Pick<Source, 'relation' | 'list' | 'path'>;
  readonly keys: readonly string[];
  /** Whether every row is looked at, or the first ones. */
  readonly everyRow: boolean;
}

/** @returns by its position, each of the columns `nested` whose values have one type; what is left out is json */
export async function inferNested(
  context: SourceContext,
  { rows, keys, everyRow }: NestedRows,
  nested: readonly number[],
  signal: AbortSignal,
): Promise<ReadonlyMap<number, SourceColumn>> {
  const sample = everyRow ? rows : { ...rows, relation: `(FROM ${rows.relation} LIMIT ${sampleRows(keys.length)})` };
  const shapes = await findShapes(context, sample, { keys, indexes: nested }, signal);
  const columns = new Map<number, SourceColumn>();
  const found = nested.flatMap((index) => {
    const each = shapes.get(index) ?? [];
    return each.length <= SHAPES_MAX ? [{ index, ...typeOfStructures(each) }] : [];
  });
  // Those with the most members are json first. Columns of one type are read by one expression where there are many.
  const types = new Set<string>();
  let members = 0;
  for (const { index, ...column } of found.sort((a, b) => a.members - b.members)) {
    const name = formatColumnType(column.type);
    const more = rows.list !== undefined && types.has(name) ? 0 : column.members;
    if (members + more > MEMBERS_MAX) continue;
    members += more;
    types.add(name);
    columns.set(index, nestedColumn(keys[index] ?? '', index, column.type));
  }
  if (everyRow) await leaveOutInvalid(context, rows, columns, signal);
  return columns;
}

function nestedColumn(name: string, index: number, type: ColumnType): SourceColumn {
  return columnReadAs({ name, type, inferred: true }, index, {
    key: `nested ${formatColumnType(type)}`,
    read: (raw, _, fail) => ({ stored: jsonToStored(type, raw, fail, true) }),
  });
}

/** The shapes of each column's values, more than SHAPES_MAX of them where there are more. */
async function findShapes(
  context: SourceContext,
  rows: NestedRows['rows'],
  { keys, indexes }: { readonly keys: readonly string[]; readonly indexes: readonly number[] },
  signal: AbortSignal,
): Promise<ReadonlyMap<number, readonly string[]>> {
  if (indexes.length === 0) return new Map();
  const columns = keys.map((_, index) => ({ raw: `s${index}` }));
  const cells = `SELECT unnest(${rawValuesOf({ ...rows, columns }, indexes)}) AS cell, unnest([${indexes.join(', ')}]) AS place FROM ${rows.relation}`;
  const most = indexes.length === 1 ? SHAPES_MAX : SHAPES_AT_ONCE;
  const text = `SELECT DISTINCT place, ${shapeOf('cell')} FROM (${cells}) WHERE cell IS NOT NULL LIMIT ${most + 1}`;
  const found = await context.duckDb.query({ text, values: [rows.path] }, signal);
  if (found.length > most && indexes.length > 1) {
    const middle = Math.ceil(indexes.length / 2);
    const left = await findShapes(context, rows, { keys, indexes: indexes.slice(0, middle) }, signal);
    const right = await findShapes(context, rows, { keys, indexes: indexes.slice(middle) }, signal);
    return new Map([...left, ...right]);
  }
  const shapes = Map.groupBy(found, ([place]) => Number(place));
  return new Map([...shapes].map(([place, each]) => [place, each.map(([, shape]) => String(shape))]));
}

/** json_structure calls itself for each level, and a value some ten thousand deep ends the process. One this deep is json. */
function shapeOf(cell: string): string {
  const opening = `strlen(${cell}) - strlen(replace(replace(${cell}, '{', ''), '[', ''))`;
  const withoutTexts = `regexp_replace(${cell}, '"(?:[^"\\\\]|\\\\.)*"', '', 'g')`;
  const brackets = `regexp_replace(${withoutTexts}, '[^\\[\\]{}]+', '', 'g')`;
  // Each turn takes the innermost pairs away, so it is one level less deep.
  const rest = Array.from({ length: LEVELS_MAX }).reduce<string>(
    (inner) => `regexp_replace(${inner}, '\\[\\]|\\{\\}', '', 'g')`,
    brackets,
  );
  const isDeep = `CASE WHEN ${opening} > ${LEVELS_MAX} THEN ${rest} <> '' ELSE false END`;
  const shape = `CASE WHEN ${isDeep} THEN '"JSON"' ELSE json_structure(CAST(${cell} AS JSON))::VARCHAR END`;
  return `list_transform([${shape}], lambda shape: CASE WHEN strlen(shape) > ${SHAPE_BYTES_MAX} THEN '"JSON"' ELSE shape END)[1]`;
}

/** Leaves the columns out that hold a value that does not convert. What a shape does not tell, such as a number over 64 bits, shows only here. */
async function leaveOutInvalid(
  context: SourceContext,
  rows: NestedRows['rows'],
  columns: Map<number, SourceColumn>,
  signal: AbortSignal,
): Promise<void> {
  while (columns.size > 0) {
    const stored = [...columns.values()].map((column) => column.stored);
    try {
      await context.duckDb.query(statementOver(rows, `count(hash(${stored.join(', ')}))`), signal);
      return;
    } catch (error) {
      signal.throwIfAborted();
      const invalid = invalidValueOf(error);
      if (invalid === undefined || !columns.delete(invalid.index)) throw error;
    }
  }
}
