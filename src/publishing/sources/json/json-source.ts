/**
 * JSON objects as a source: one a line (NDJSON), or the elements of one array. A column is a key, in order of first appearance;
 * a missing key is null. Text stays text. Numbers become the narrowest type that keeps their digits, objects rows and lists
 * arrays; what is mixed becomes text, and nested values of changing shape json.
 */
import { type ColumnType, formatColumnType } from '../../../domain/column-type.ts';
import { jsonToStored, keepsWriting, textToStored } from '../../../duckdb/text-value.ts';
import { PublishError } from '../../publish-error.ts';
import { type ColumnStats, resolve } from '../inference.ts';
import {
  type Alike,
  columnReadAs,
  failIn,
  opened,
  type Source,
  type SourceColumn,
  type SourceContext,
  statementOver,
} from '../source.ts';
import { collectColumnStats, inferredReading, sampleRows } from '../text-columns.ts';
import { explainJson } from './json-problem.ts';
import { type JsonLayout, relationOf } from './json-relation.ts';
import { typeOfStructures } from './json-structure.ts';

const EXCERPT_LENGTH = 200;
const KEYS_MAX = 10_000;
/** A column whose values have more shapes than this is json: as a row it would be mostly nulls. */
const SHAPES_MAX = 1000;
/** Of a column whose type is not declared, before its values are looked at. */
const NOTHING_KNOWN: ColumnType = { kind: 'boolean' };

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
  const objects = `read_json_objects($1, format = '${layout}', compression = 'uncompressed')`;
  const explain: Source['explain'] = (error, s) => explainJson(error, context, objects, layout, s);
  const open = async (): Promise<Source> => {
    const keys = await findKeys(context, objects, everyRow, signal);
    await refuseErrorAnswer(context, objects, keys, signal);
    const declaredToKeep = keys.flatMap((key, i) => (keepsWriting(context.types.get(key) ?? NOTHING_KNOWN) ? [i] : []));
    const base = { relation: relationOf(objects, keys, declaredToKeep), path: context.path };
    const seenAs = keys.map((_, i) => `${withBareNonFinite(`s${i}`)} AS s${i}`).join(', ');
    const numbers = { ...base, relation: `(SELECT ${seenAs} FROM ${base.relation})` };
    const columnStats = await collectColumnStats(context, numbers, keys, everyRow, signal);
    const sample = everyRow ? base : { ...base, relation: `(FROM ${base.relation} LIMIT ${sampleRows(keys.length)})` };
    const columns: SourceColumn[] = [];
    for (const [i, name] of keys.entries()) {
      const declared = context.types.get(name);
      const seen = columnStats[i];
      if (declared !== undefined || seen === undefined) {
        columns.push(declared === undefined ? anyJson(name, i) : declaredColumn(name, i, declared));
      } else columns.push(await inferredColumn(context, { base, sample, name, index: i, columnStats: seen }, signal));
    }
    const asWritten = columns.flatMap(({ type }, i) => (keepsWriting(type) ? [i] : []));
    return {
      relation: relationOf(objects, keys, asWritten),
      path: context.path,
      columns,
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
  const rows = `SELECT json_keys(json) AS keys, row_number() OVER () AS n FROM ${objects} ${everyRow ? '' : `LIMIT ${sampleRows(await widestOf(context, objects, signal))}`}`;
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
    `the file is one object that reads like the error of an API, not like rows: ${String(rows[0]?.[0])}; if it is meant, declare its types (--types ${keys[0]}=varchar)`,
  );
}

/** The most keys that one of the first objects has: of wide ones, few are a sample. */
async function widestOf(context: SourceContext, objects: string, signal: AbortSignal): Promise<number> {
  const text = `SELECT max(len(json_keys(json))) FROM (FROM ${objects} LIMIT 100)`;
  const [row] = await context.duckDb.query({ text, values: [context.path] }, signal);
  return Number(row?.[0] ?? 0);
}

function declaredColumn(name: string, index: number, type: ColumnType): SourceColumn {
  const nested = type.kind === 'json' || type.kind === 'array' || type.kind === 'map' || type.kind === 'row';
  // Nested values may also come as text that holds JSON; those of a json column come so from our own answers.
  const stored = (raw: string, fail: string) =>
    nested
      ? `CASE WHEN starts_with(${raw}, '"') THEN ${textToStored(type, unquoted(raw), fail)} ELSE ${jsonToStored(type, raw, fail, false)} END`
      : textToStored(type, unquoted(raw), fail);
  const alike: Alike = {
    key: `declared ${formatColumnType(type)}`,
    read: (raw, _, fail) => ({ stored: stored(raw, fail) }),
  };
  return columnReadAs({ name, type, inferred: false }, index, alike);
}

/** Values of any shape, as they are: a string among them is a JSON string. */
function anyJson(name: string, index: number): SourceColumn {
  const type: ColumnType = { kind: 'json' };
  const read: Alike['read'] = (raw, _, fail) => ({ stored: jsonToStored(type, raw, fail, true) });
  return columnReadAs({ name, type, inferred: false }, index, { key: 'any json', read });
}

interface SeenColumn {
  readonly name: string;
  readonly index: number;
  readonly columnStats: ColumnStats;
  /** The rows that the type is taken from: all of them (`base` itself) or the first ones. */
  readonly sample: Pick<Source, 'relation' | 'path'>;
  readonly base: Pick<Source, 'relation' | 'path'>;
}

async function inferredColumn(
  context: SourceContext,
  { base, sample, name, index, columnStats }: SeenColumn,
  signal: AbortSignal,
): Promise<SourceColumn> {
  const raw = `s${index}`;
  const fail = failIn(index, raw);
  const resolved = resolve(columnStats);
  if (resolved !== 'nested') {
    const text: Alike = { key: 'inferred varchar', read: (cell) => ({ stored: unquoted(cell) }) };
    const alike = resolved.kind === 'varchar' ? text : inferredReading(resolved);
    const read: Alike['read'] = (cell, parsed, invalidValue) =>
      alike.read(withBareNonFinite(cell), parsed, invalidValue);
    return columnReadAs(
      { name, type: resolved, inferred: true },
      index,
      resolved.kind === 'double' ? { ...alike, read } : alike,
    );
  }
  const shapes = await context.duckDb.query(
    statementOver(
      sample,
      `DISTINCT json_structure(CAST(${raw} AS JSON))::VARCHAR`,
      `WHERE ${raw} IS NOT NULL LIMIT ${SHAPES_MAX + 1}`,
    ),
    signal,
  );
  const guessed = shapes.length > SHAPES_MAX ? undefined : typeOfStructures(shapes.map(([shape]) => String(shape)));
  const converted = guessed && jsonToStored(guessed, raw, fail, true);
  const fits = converted !== undefined && (sample !== base || (await allFit(context, base, converted, signal)));
  if (guessed === undefined || converted === undefined || !fits) return anyJson(name, index);
  return { name, type: guessed, raw, stored: converted, inferred: true };
}

/** Whether every row converts. What a shape does not tell, such as a number over 64 bits, shows only here. */
async function allFit(
  context: SourceContext,
  base: Pick<Source, 'relation' | 'path'>,
  converted: string,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await context.duckDb.query(statementOver(base, `count(hash(${converted}))`), signal);
    return true;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Error && error.message.includes('invalid value in column')) return false;
    throw error;
  }
}

/** JSON has no numbers for these three: among numbers they are texts, as in our own answers. */
function withBareNonFinite(raw: string): string {
  return `CASE WHEN ${raw} IN ('"NaN"', '"Infinity"', '"-Infinity"') THEN trim(${raw}, '"') ELSE ${raw} END`;
}

/** The text of a JSON string, or a value of another kind as it is written. */
function unquoted(raw: string): string {
  return `CASE WHEN NOT starts_with(${raw}, '"') THEN ${raw} WHEN contains(${raw}, '\\') THEN json_extract_string(CAST(${raw} AS JSON), '$') ELSE substr(${raw}, 2, length(${raw}) - 2) END`;
}
