/**
 * JSON objects as a source: one a line (NDJSON), or the elements of one array. A column is a key, in order of first appearance;
 * a missing key is null. Text stays text. Numbers become the narrowest type that keeps their digits, objects rows and lists
 * arrays; what is mixed becomes text, and nested values of changing shape json.
 */
import { type ColumnType, formatColumnType, isNested } from '../../../domain/column-type.ts';
import { mapInTurns } from '../../../domain/in-turns.ts';
import { jsonToStored, keepsWriting, textToStored } from '../../../duckdb/text-value.ts';
import { PublishError } from '../../publish-error.ts';
import { resolve } from '../inference.ts';
import {
  columnReadAs,
  opened,
  type ReadingRule,
  type Source,
  type SourceColumn,
  type SourceContext,
} from '../source.ts';
import { collectColumnStats, inferredReading, sampleRows } from '../text-columns.ts';
import { checkJson } from './json-check.ts';
import { explainJson } from './json-problem.ts';
import { type JsonLayout, relationOf } from './json-relation.ts';
import { inferNested } from './nested-columns.ts';

const EXCERPT_LENGTH = 200;
const KEYS_MAX = 10_000;
/** Of a column whose type is not declared, before its values are looked at. */
const NOTHING_KNOWN: ColumnType = { kind: 'boolean' };

type Rows = Pick<Source, 'relation' | 'list' | 'path'>;

/** @throws PublishError naming the line when the file is not JSON objects. */
export async function openJson(context: SourceContext, layout: JsonLayout, signal: AbortSignal): Promise<Source> {
  return await build(context, layout, false, signal);
}

async function build(
  context: SourceContext,
  layout: JsonLayout,
  everyRow: boolean,
  signal: AbortSignal,
): Promise<Source> {
  const objects = `read_json_objects($1, format = '${layout}', compression = 'uncompressed', hive_partitioning = false)`;
  const explain: Source['explain'] = (error, s) => explainJson(error, context, objects, layout, s);
  const open = async (): Promise<Source> => {
    const keys = await findKeys(context, objects, everyRow, signal);
    await refuseErrorAnswer(context, objects, keys, signal);
    const declaredToKeep = keys.flatMap((key, i) => (keepsWriting(context.types.get(key) ?? NOTHING_KNOWN) ? [i] : []));
    const base = { ...relationOf(objects, keys, declaredToKeep), path: context.path };
    const columnStats = await collectColumnStats(context, asNumbers(base, keys), keys, everyRow, signal);
    const resolved = await mapInTurns(columnStats, (stats) => stats && resolve(stats));
    const nested = [...resolved.keys()].filter((index) => resolved[index] === 'nested');
    const nestedColumns = await inferNested(context, { rows: base, keys, everyRow }, nested, signal);
    const columns = await mapInTurns(keys, (name, i): SourceColumn => {
      const [declared, seen] = [context.types.get(name), resolved[i]];
      if (declared !== undefined) return declaredColumn(name, i, declared);
      if (seen === undefined || seen === 'nested') return nestedColumns.get(i) ?? anyJson(name, i);
      return plainColumn(name, i, seen);
    });
    const asWritten = columns.flatMap(({ type }, i) => (keepsWriting(type) ? [i] : []));
    return {
      ...relationOf(objects, keys, asWritten),
      path: context.path,
      columns,
      check: async (s, onCount) => {
        const lines = await checkJson(context.file, s);
        if (layout === 'newline_delimited') onCount(lines);
        return undefined;
      },
      widen: (s) => build(context, layout, true, s),
      explain,
    };
  };
  return await opened(open, explain, signal);
}

async function findKeys(
  context: SourceContext,
  objects: string,
  everyRow: boolean,
  signal: AbortSignal,
): Promise<readonly string[]> {
  // A small file has no more cells than a sample.
  const width = everyRow || context.isSmall ? 1 : await widestOf(context, objects, signal);
  const limit = everyRow ? '' : `LIMIT ${sampleRows(width)}`;
  const rows = `SELECT json_keys(json) AS keys, row_number() OVER () AS n FROM ${objects} ${limit}`;
  const each = `SELECT unnest(keys) AS k, generate_subscripts(keys, 1) AS p, n FROM (${rows})`;
  const text = `SELECT k FROM (${each}) GROUP BY k ORDER BY min(n * ${2 * KEYS_MAX} + p), k LIMIT ${KEYS_MAX + 1}`;
  const found = await context.duckDb.query({ text, values: [context.path] }, signal);
  const keys = found.map(([key]) => String(key));
  if (keys.length > KEYS_MAX) throw new PublishError(`the objects have more than ${KEYS_MAX} different keys`);
  // Of no rows at all the columns are those that were declared.
  if (everyRow && keys.length === 0 && context.types.size > 0) return [...context.types.keys()];
  if (everyRow && keys.length === 0) {
    throw new PublishError('the file has no object with a key, so there are no columns');
  }
  const missing = keys.length === 0 || [...context.types.keys()].some((declared) => !keys.includes(declared));
  // What was declared may appear later than in the sample.
  return missing && !everyRow ? await findKeys(context, objects, true, signal) : keys;
}

/** What an API answers in place of rows: one object of these keys, the first two of which say that it is an error. */
const ERROR_KEYS = ['error', 'errors', 'message', 'detail', 'details', 'code', 'status', 'statusCode', 'type', 'title'];

/** @throws PublishError for a file that is the error of an API. Whoever means it declares its types. */
async function refuseErrorAnswer(
  context: SourceContext,
  objects: string,
  keys: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const isError =
    keys.some((key) => key === 'error' || key === 'errors') && keys.every((key) => ERROR_KEYS.includes(key));
  if (!isError || context.types.size > 0) return;
  const text = `SELECT substr(json::VARCHAR, 1, ${EXCERPT_LENGTH}) FROM ${objects} LIMIT 2`;
  const rows = await context.duckDb.query({ text, values: [context.path] }, signal);
  if (rows.length !== 1) return;
  throw new PublishError(
    `the file is one object that reads like the error of an API, not like rows: ${String(rows[0]?.[0])}; if it is meant, declare its types`,
    { remedy: { say: 'types', declaration: `${keys[0]}=varchar` } },
  );
}

/** The most keys that one of the first objects has: of wide ones, few are a sample. */
async function widestOf(context: SourceContext, objects: string, signal: AbortSignal): Promise<number> {
  const text = `SELECT max(len(json_keys(json))) FROM (FROM ${objects} LIMIT 100)`;
  const [row] = await context.duckDb.query({ text, values: [context.path] }, signal);
  return Number(row?.[0] ?? 0);
}

function declaredColumn(name: string, index: number, type: ColumnType): SourceColumn {
  const nested = type.kind === 'json' || isNested(type);
  // Nested values may also come as text that holds JSON; those of a json column come so from our own answers.
  const stored = (raw: string, fail: string) =>
    nested
      ? `CASE WHEN starts_with(${raw}, '"') THEN ${textToStored(type, unquoted(raw), fail)} ELSE ${jsonToStored(type, raw, fail, false)} END`
      : textToStored(type, unquoted(raw), fail);
  const rule: ReadingRule = {
    key: `declared ${formatColumnType(type)}`,
    read: (raw, _, fail) => ({ stored: stored(raw, fail) }),
  };
  return columnReadAs({ name, type, inferred: false }, index, rule);
}

/** Values of any shape, as they are: a string among them is a JSON string. */
function anyJson(name: string, index: number): SourceColumn {
  const type: ColumnType = { kind: 'json' };
  const read: ReadingRule['read'] = (raw, _, fail) => ({ stored: jsonToStored(type, raw, fail, true) });
  return columnReadAs({ name, type, inferred: false }, index, { key: 'any json', read });
}

/** A column whose values, as far as they were seen, are no lists or objects. */
function plainColumn(name: string, index: number, type: ColumnType): SourceColumn {
  const text: ReadingRule = { key: 'inferred varchar', read: (cell) => ({ stored: unquoted(cell) }) };
  // 1e5 may have been seen as 100000.0, and be read as it is written because of another value in its row.
  const decimal: ReadingRule = {
    key: `inferred ${formatColumnType(type)}`,
    read: (cell, _, invalidValue) => ({ stored: textToStored(type, cell, invalidValue) }),
  };
  const rule = type.kind === 'varchar' ? text : type.kind === 'decimal' ? decimal : inferredReading(type);
  const seenAs = type.kind === 'double' ? withBareNonFinite : WHOLE_KINDS.has(type.kind) ? withoutMinusZero : undefined;
  const read: ReadingRule['read'] = (cell, parsed, invalidValue) =>
    rule.read(seenAs?.(cell) ?? cell, parsed, invalidValue);
  return columnReadAs({ name, type, inferred: true }, index, { ...rule, read });
}

/** The rows as types are inferred from them. */
function asNumbers(rows: Rows, keys: readonly string[]): Rows {
  const seen = (cell: string) => withoutMinusZero(withBareNonFinite(cell));
  if (rows.list !== undefined) {
    const list = `list_transform(${rows.list}, lambda cell: ${seen('cell')})`;
    return { ...rows, list };
  }
  const seenAs = keys.map((_, i) => `${seen(`s${i}`)} AS s${i}`).join(', ');
  return { ...rows, relation: `(SELECT ${seenAs} FROM ${rows.relation})` };
}

/** JSON has no numbers for these three: among numbers they are texts, as in our own answers. */
function withBareNonFinite(raw: string): string {
  return `CASE WHEN ${raw} IN ('"NaN"', '"Infinity"', '"-Infinity"') THEN trim(${raw}, '"') ELSE ${raw} END`;
}

/** Types of whole numbers that are inferred: each has −0 as 0. */
const WHOLE_KINDS: ReadonlySet<ColumnType['kind']> = new Set(['bigint', 'hugeint', 'uint256', 'int256']);

/** Among whole numbers −0 is 0, whether it is read as it is written or not, which other values of its row decide. */
function withoutMinusZero(raw: string): string {
  return `CASE WHEN ${raw} = '-0' THEN '0' ELSE ${raw} END`;
}

/** The text of a JSON string, or a value of another kind as it is written. */
function unquoted(raw: string): string {
  return `CASE WHEN NOT starts_with(${raw}, '"') THEN ${raw} WHEN contains(${raw}, '\\') THEN json_extract_string(CAST(${raw} AS JSON), '$') ELSE substr(${raw}, 2, length(${raw}) - 2) END`;
}
