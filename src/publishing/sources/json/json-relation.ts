/**
 * JSON objects as rows of text: s0, s1, … hold each key's value as JSON text, every number with the digits it was written
 * with. Nothing is dropped: an object with a key that has no column ends the statement.
 */
import { hasNumberMark, losesDigits, losesWriting, unwrapNumbers, wrapNumbers } from '../../../duckdb/exact-json.ts';
import { quoteText } from '../../../duckdb/quoting.ts';
import { jsonPointer } from '../../../duckdb/text-value.ts';
import { NARROW_COLUMNS_MAX } from '../../write/stored-rows.ts';

/** How the objects stand in the file: one a line, or as the elements of one array. */
export type JsonLayout = 'newline_delimited' | 'array';

/** How a failed statement says why. */
export const NO_OBJECT = 'json value is no object';
export const KEYS_UNKNOWN = 'json object has unknown keys';
export const MARKED = 'json value holds the number mark';

/**
 * SQL for what follows FROM.
 * @param objects SQL of a table with the column `json`
 * @param asWritten positions of the keys whose numbers are kept as they are written: 1.50 is not 1.5
 */
export function relationOf(objects: string, keys: readonly string[], asWritten: readonly number[]): string {
  const wide = keys.length > NARROW_COLUMNS_MAX;
  const extract = (json: string) => (wide ? extractWide(json, keys) : extractByKey(json, keys));
  const exact = `list_transform(${extract(`CAST(${wrapNumbers('json')} AS JSON)`)}, lambda x: ${unwrapNumbers('x')})`;
  const whole = wide ? assembledWide : assembled;
  const read = `CASE WHEN ${whole(keys, ',', ':')} = json THEN l WHEN ${whole(keys, ', ', ': ')} = json THEN l
    WHEN NOT starts_with(ltrim(json, e' \\t\\r\\n'), '{') THEN error('${NO_OBJECT}')
    WHEN len(json_keys(json)) <> list_count(l) THEN error('${KEYS_UNKNOWN}')
    WHEN ${losesDigits('json')} OR CASE WHEN ${anyReal(asWritten, wide)} THEN ${losesWriting('json')} ELSE false END
    THEN CASE WHEN ${hasNumberMark('json')} THEN error('${MARKED}') ELSE ${exact} END ELSE l END`;
  const columns = keys.map((_, i) => (wide ? `v[${i + 1}] AS s${i}` : `nullif(v[${i + 1}], 'null') AS s${i}`));
  const values = wide ? `list_transform(${read}, lambda cell: nullif(cell, 'null'))` : read;
  const texts = `SELECT json::VARCHAR AS json FROM ${objects}`;
  return `(SELECT ${columns.join(', ')} FROM (SELECT ${values} AS v FROM (SELECT json, ${extract('json')} AS l FROM (${texts}))))`;
}

/** SQL: the texts of the values of these keys, as a list; of a key that is not there, null. */
function extractByKey(json: string, keys: readonly string[]): string {
  return `json_extract(${json}, [${keys.map((key) => quoteText(jsonPointer(key))).join(', ')}])::VARCHAR[]`;
}

/** The same where there are many keys: each is searched for among all of the object's, unless the object has just these in this order. */
function extractWide(json: string, keys: readonly string[]): string {
  const names = `[${keys.map((key) => quoteText(key)).join(', ')}]`;
  return `CASE WHEN json_keys(${json}) = ${names} THEN json_extract(${json}, '$.*')::VARCHAR[] ELSE ${extractByKey(json, keys)} END`;
}

/** SQL: whether a value of these keys may hold a number with a fraction or an exponent. */
function anyReal(asWritten: readonly number[], wide: boolean): string {
  if (asWritten.length === 0) return 'false';
  const isReal = (text: string) => `regexp_matches(${text}, '^[^"]*[0-9][.eE]|[:,[]-?[0-9]+[.eE]')`;
  const any = wide
    ? `list_bool_or(list_transform(list_select(l, [${asWritten.map((i) => i + 1).join(', ')}]), lambda cell: ${isReal('cell')}))`
    : asWritten.map((i) => isReal(`l[${i + 1}]`)).join(' OR ');
  return `coalesce(${any}, false)`;
}

/** As `assembled`, by one expression for all keys. A lambda that looked the names up in a list of its own would be given a copy of it for each cell. */
function assembledWide(keys: readonly string[], comma: string, colon: string): string {
  const names = `[${keys.map((key) => quoteText(JSON.stringify(key) + colon)).join(', ')}]`;
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
