/**
 * JSON objects as rows of text: s0, s1, … hold each key's value as JSON text, every number with the digits it was written
 * with. Nothing is dropped: an object with a key that has no column ends the statement.
 */
import { hasNumberMark, losesDigits, losesWriting, unwrapNumbers, wrapNumbers } from '../../../duckdb/exact-json.ts';
import { quoteText } from '../../../duckdb/quoting.ts';
import { jsonPointer } from '../../../duckdb/text-value.ts';
import { NARROW_COLUMNS_MAX } from '../../write/stored-rows.ts';
import type { Source } from '../source.ts';

/** How the objects stand in the file: one a line, or as the elements of one array. */
export type JsonLayout = 'newline_delimited' | 'array';

/** How a failed statement says why. */
export const NO_OBJECT = 'json value is no object';
export const KEYS_UNKNOWN = 'json object has unknown keys';
export const MARKED = 'json value holds the number mark';

/** Objects of so many keys are looked up by sorting: searching each object for each key takes time that grows with the square. */
const SEARCHED_KEYS_MAX = 1000;

/**
 * The rows, and SQL over them for the list of a row's texts where there are many.
 * @param objects SQL of a table with the column `json`
 * @param asWritten positions of the keys whose numbers are kept as they are written: 1.50 is not 1.5
 */
export function relationOf(
  objects: string,
  keys: readonly string[],
  asWritten: readonly number[],
): Pick<Source, 'relation' | 'list'> {
  const wide = keys.length > NARROW_COLUMNS_MAX;
  const extract = (json: string) => (wide ? extractWide(json, keys) : extractByKey(json, keys));
  const exact = `list_transform(${extract(`CAST(${wrapNumbers('json')} AS JSON)`)}, lambda x: ${unwrapNumbers('x')})`;
  const whole = wide ? assembledWide : assembled;
  const read = `CASE WHEN ${whole(keys, ',', ':')} = json THEN l WHEN ${whole(keys, ', ', ': ')} = json THEN l
    WHEN NOT starts_with(ltrim(json, e' \\t\\r\\n'), '{') THEN error('${NO_OBJECT}')
    WHEN len(json_keys(json)) <> list_count(l) THEN error('${KEYS_UNKNOWN}')
    WHEN ${losesDigits('json')} OR CASE WHEN ${anyRewritten(asWritten, wide)} THEN ${losesWriting('json')} ELSE false END
    THEN CASE WHEN ${hasNumberMark('json')} THEN error('${MARKED}') ELSE ${exact} END ELSE l END`;
  const columns = keys.map((_, i) => (wide ? `v[${i + 1}] AS s${i}` : `nullif(v[${i + 1}], 'null') AS s${i}`));
  const values = wide ? `list_transform(${read}, lambda cell: nullif(cell, 'null'))` : read;
  const texts = `SELECT json::VARCHAR AS json FROM ${objects}`;
  const rows = `(SELECT ${values} AS v FROM (SELECT json, ${extract('json')} AS l FROM (${texts})))`;
  if (!wide) return { relation: `(SELECT ${columns.join(', ')} FROM ${rows})` };
  return { relation: `(SELECT v, ${columns.join(', ')} FROM ${rows})`, list: 'v' };
}

/** SQL: the texts of the values of these keys, as a list; of a key that is not there, null. */
function extractByKey(json: string, keys: readonly string[]): string {
  return `json_extract(${json}, ${listOf(keys.map(jsonPointer))})::VARCHAR[]`;
}

/** The same where there are many keys: each is searched for among all of the object's, unless the object has just these in this order. */
function extractWide(json: string, keys: readonly string[]): string {
  const other = keys.length > SEARCHED_KEYS_MAX ? extractBySorting(json, keys) : extractByKey(json, keys);
  return `CASE WHEN json_keys(${json}) = ${listOf(keys)} THEN json_extract(${json}, '$.*')::VARCHAR[] ELSE ${other} END`;
}

/**
 * The same again: the object's members and one member without a value for each key, sorted by key, the object's before ours. Ours
 * are dropped where the object has the key: what is left are the values in the order of the keys, and each is put in its place.
 */
function extractBySorting(json: string, keys: readonly string[]): string {
  const bytes = keys.map((key) => Buffer.from(key));
  const sorted = [...keys.keys()].sort((a, b) => Buffer.compare(bytes[a] as Buffer, bytes[b] as Buffer));
  const places: number[] = [];
  for (const [place, index] of sorted.entries()) places[index] = place + 1;
  const found = `list_transform(list_zip(json_keys(${json}), json_extract(${json}, '$.*')::VARCHAR[]), lambda m: {'k': m[1], 'ours': false, 'v': m[2]})`;
  const ours = `list_transform(${listOf(keys)}, lambda k: {'k': k, 'ours': true, 'v': NULL::VARCHAR})`;
  const besidePrevious = `list_transform([list_sort(list_concat(${found}, ${ours}))], lambda m: list_zip(m, list_prepend(NULL, m), true))[1]`;
  const kept = `list_filter(${besidePrevious}, lambda m: NOT m[1].ours OR m[2] IS NULL OR m[1].k <> m[2].k)`;
  const inPlace = `CASE WHEN len(found) <> ${keys.length} THEN error('${KEYS_UNKNOWN}') ELSE list_select(found, [${places.join(', ')}]) END`;
  return `list_transform([list_transform(${kept}, lambda m: m[1].v)], lambda found: ${inPlace})[1]`;
}

function listOf(texts: readonly string[]): string {
  return `[${texts.map(quoteText).join(', ')}]`;
}

/** SQL: whether a value of these keys may hold a number with a fraction or an exponent, or any value −0, which is 0 in the values already. */
function anyRewritten(asWritten: readonly number[], wide: boolean): string {
  if (asWritten.length === 0) return 'false';
  const isReal = (text: string) => `regexp_matches(${text}, '^[^"]*[0-9][.eE]|[:,[]-?[0-9]+[.eE]')`;
  const any = wide
    ? `list_bool_or(list_transform(list_select(l, [${asWritten.map((i) => i + 1).join(', ')}]), lambda cell: ${isReal('cell')}))`
    : asWritten.map((i) => isReal(`l[${i + 1}]`)).join(' OR ');
  return `coalesce(${any}, false) OR contains(json, '-0')`;
}

/** As `assembled`, by one expression for all keys. A lambda that looked the names up in a list of its own would be given a copy of it for each cell. */
function assembledWide(keys: readonly string[], comma: string, colon: string): string {
  const names = listOf(keys.map((key) => JSON.stringify(key) + colon));
  return `'{' || array_to_string(list_transform(list_zip(${names}, l), lambda member: member[1] || member[2]), ${quoteText(comma)}) || '}'`;
}

/**
 * SQL: the object put together again from its values. Where that is the line as it was written, nothing was lost, and no key is
 * unknown or there twice: for most files the only check, and the cheapest.
 */
function assembled(keys: readonly string[], comma: string, colon: string): string {
  const members = keys.map((key, i) => `${quoteText(JSON.stringify(key) + colon)} || l[${i + 1}]`);
  return `'{' || concat_ws(${quoteText(comma)}, ${members.join(', ')}) || '}'`;
}
