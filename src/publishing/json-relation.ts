/**
 * JSON objects as rows of text: s0, s1, … hold each key's value as JSON text, every number with the digits it was written
 * with. Nothing is dropped: an object with a key that has no column ends the statement.
 */
import { hasNumberMark, losesDigits, losesWriting, unwrapNumbers, wrapNumbers } from '../duckdb/exact-json.ts';
import { quoteText } from '../duckdb/quoting.ts';
import { jsonPointer } from '../duckdb/text-value.ts';

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
  const extract = (json: string) =>
    `json_extract(${json}, [${keys.map((key) => quoteText(jsonPointer(key))).join(', ')}])::VARCHAR[]`;
  const exact = `list_transform(${extract(`CAST(${wrapNumbers('json')} AS JSON)`)}, lambda x: ${unwrapNumbers('x')})`;
  const reals = asWritten.map((i) => `regexp_matches(l[${i + 1}], '^[^"]*[0-9][.eE]|[:,[]-?[0-9]+[.eE]')`);
  const anyReal = reals.length === 0 ? 'false' : `coalesce(${reals.join(' OR ')}, false)`;
  const read = `CASE WHEN ${assembled(keys, ',', ':')} = json THEN l WHEN ${assembled(keys, ', ', ': ')} = json THEN l
    WHEN NOT starts_with(ltrim(json, e' \\t\\r\\n'), '{') THEN error('${NO_OBJECT}')
    WHEN len(json_keys(json)) <> list_count(l) THEN error('${KEYS_UNKNOWN}')
    WHEN ${losesDigits('json')} OR CASE WHEN ${anyReal} THEN ${losesWriting('json')} ELSE false END
    THEN CASE WHEN ${hasNumberMark('json')} THEN error('${MARKED}') ELSE ${exact} END ELSE l END`;
  const columns = keys.map((_, i) => `nullif(v[${i + 1}], 'null') AS s${i}`).join(', ');
  const texts = `SELECT json::VARCHAR AS json FROM ${objects}`;
  return `(SELECT ${columns} FROM (SELECT ${read} AS v FROM (SELECT json, ${extract('json')} AS l FROM (${texts}))))`;
}

/**
 * SQL: the object put together again from its values. Where that is the line as it was written, nothing was lost, and no key is
 * unknown or there twice: for most files the only check, and the cheapest.
 */
function assembled(keys: readonly string[], comma: string, colon: string): string {
  const members = keys.map((key, i) => `${quoteText(JSON.stringify(key) + colon)} || l[${i + 1}]`);
  return `'{' || concat_ws(${quoteText(comma)}, ${members.join(', ')}) || '}'`;
}
