/**
 * SQL of DuckDB that reads a cell of Trino's JSON as a stored value (duckdb/storage-type.ts). A cell comes as text: a JSON string is
 * its text, a number its digits, a list or an object its JSON. So no digit goes through a JavaScript number, and what the type cannot
 * hold ends the statement.
 */
import { quoteText } from '../../duckdb/quoting.ts';
import { storedField } from '../../duckdb/storage-type.ts';
import { textToStored } from '../../duckdb/text-value.ts';
import type { WireType } from './trino-types.ts';

type ScalarWire = Extract<WireType, { readonly kind: 'scalar' }>;

/**
 * @param cell SQL for the text of a cell, null for null
 * @param fail SQL that ends the statement, for a value that is not of the type
 */
export function cellToStored(wire: WireType, cell: string, fail: string): string {
  if (wire.kind === 'scalar') return scalarToStored(wire, cell, fail);
  return fromJson(wire, `CAST(${cell} AS JSON)`, fail, 0);
}

function fromJson(wire: WireType, json: string, fail: string, depth: number): string {
  const member = `m${depth}`;
  const each = (element: WireType, list: string) =>
    `list_transform(${list}, lambda ${member}: ${fromJson(element, member, fail, depth + 1)})`;
  const when = (jsonType: string, value: string) =>
    `CASE json_type(${json}) WHEN ${quoteText(jsonType)} THEN ${value} WHEN 'NULL' THEN NULL ELSE CASE WHEN ${json} IS NOT NULL THEN ${fail} END END`;
  switch (wire.kind) {
    case 'scalar':
      return scalarToStored(wire, `json_extract_string(${json}, '$')`, fail);
    case 'array':
      return when('ARRAY', each(wire.element, `json_extract(${json}, '$[*]')`));
    case 'map': {
      // Keys are names in the JSON, so they are texts already.
      const key = wire.key.kind === 'scalar' ? scalarToStored(wire.key, member, fail) : fail;
      const keys = `list_transform(json_keys(${json}), lambda ${member}: ${key})`;
      return when('OBJECT', `map(${keys}, ${each(wire.value, `json_extract(${json}, '$.*')`)})`);
    }
    case 'row': {
      const fields = wire.fields.map(({ type }, i) => {
        return `${storedField(i)} := ${fromJson(type, `json_extract(${json}, '$[${i}]')`, fail, depth + 1)}`;
      });
      const whole = `CASE WHEN json_array_length(${json}) = ${fields.length} THEN struct_pack(${fields.join(', ')}) ELSE ${fail} END`;
      return when('ARRAY', whole);
    }
    default:
      return wire satisfies never;
  }
}

function scalarToStored({ type, form }: ScalarWire, text: string, fail: string): string {
  switch (form) {
    case 'plain':
      return textToStored(type, text, fail);
    case 'base64':
      return `from_base64(${text})`;
    case 'zoned':
      return textToStored(type, replaced(text, ' ([-+])', '\\1'), fail);
    // A text of another form than these two stays as it is, and is no interval to DuckDB.
    case 'days':
      return textToStored(type, replaced(text, '^(-?)([0-9]+) ([0-9:.]+)$', '\\1\\2 days \\1\\3'), fail);
    case 'months':
      return textToStored(type, replaced(text, '^(-?)([0-9]+)-([0-9]+)$', '\\1\\2 years \\1\\3 months'), fail);
    default:
      return form satisfies never;
  }
}

function replaced(text: string, pattern: string, by: string): string {
  return `regexp_replace(${text}, ${quoteText(pattern)}, ${quoteText(by)})`;
}
