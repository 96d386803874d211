/** Which CSV fields are quoted, and how (contract §6, RFC 4180): values are encoded by DuckDB, names of the header line here. */
import type { ColumnType } from '../domain/column-type.ts';
import { jsonValueOf, plainText } from './json-value.ts';
import type { Parameters } from './parameters.ts';

/** SQL of the field's text, quotes included where needed. Null is null, which `concat` takes for the empty text. */
export function csvFieldOf(type: ColumnType, expression: string, parameters: Parameters): string {
  switch (type.kind) {
    case 'varchar':
    case 'json':
      return quotedWhereNeeded(expression);
    case 'array':
    case 'map':
    case 'row': {
      const json = `to_json(${jsonValueOf(type, expression, parameters)})::VARCHAR`;
      return `CASE WHEN ${expression} IS NOT NULL THEN ${quoted(json)} END`;
    }
    default:
      return plainText(type, expression);
  }
}

function quoted(text: string): string {
  return `'"' || replace(${text}, '"', '""') || '"'`;
}

/** `contains` is several times quicker than a regular expression that looks for all four at once. */
function quotedWhereNeeded(text: string): string {
  const marks = [`','`, `'"'`, 'chr(10)', 'chr(13)'].map((mark) => `contains(${text}, ${mark})`);
  return `CASE WHEN ${marks.join(' OR ')} THEN ${quoted(text)} WHEN ${text} = '' THEN '""' ELSE ${text} END`;
}

/** The same rule for one name of the header line. */
export function csvName(name: string): string {
  return name === '' || /[",\n\r]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name;
}
