/** Which CSV fields are quoted, and how (contract §6, RFC 4180): values are encoded by DuckDB, names of the header line here. */
import type { ColumnType } from '../domain/column-type.ts';
import { jsonValueOf, plainText } from './json-value.ts';
import type { Parameters } from './parameters.ts';

/** SQL of the field's text, quotes included where needed. Null is null, which `concat` takes for the empty text. */
export function csvFieldOf(
  type: ColumnType,
  expression: string,
  parameters: Parameters,
  forSpreadsheets = false,
): string {
  switch (type.kind) {
    case 'varchar':
    case 'json':
      return quotedWhereNeeded(forSpreadsheets ? harmless(expression) : expression);
    case 'interval':
      return forSpreadsheets ? harmless(expression) : expression;
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

/** What a spreadsheet takes for a formula, or skips before it looks for one, in the first place of a cell. */
const RUN = '=+-@\t\r';

/** SQL of the text with an apostrophe before it where a spreadsheet would run it: there it says that text follows. */
function harmless(text: string): string {
  const characters = [...RUN].map((character) => `chr(${character.charCodeAt(0)})`);
  return `CASE WHEN left(${text}, 1) IN (${characters.join(', ')}) THEN '''' || ${text} ELSE ${text} END`;
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
export function csvName(written: string, forSpreadsheets: boolean): string {
  const name = forSpreadsheets && written !== '' && RUN.includes(written.charAt(0)) ? `'${written}` : written;
  return name === '' || /[",\n\r]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name;
}
