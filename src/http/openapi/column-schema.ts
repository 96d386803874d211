/** A column's type → the JSON Schema of its values as the service writes them (contract §6). Every value may be null. */
import type { ColumnType } from '../../domain/column-type.ts';
import { type Fragment, refTo } from './schema.ts';

/** Schemas that column schemas refer to. */
export const VALUE_SCHEMAS: Readonly<Record<string, Fragment>> = {
  Double: {
    description: 'A number, or the text `NaN`, `Infinity` or `-Infinity`, which JSON has no numbers for.',
    anyOf: [{ type: ['number', 'null'], format: 'double' }, { enum: ['NaN', 'Infinity', '-Infinity'] }],
  },
};

export function columnSchema(type: ColumnType): Fragment {
  switch (type.kind) {
    case 'boolean':
      return { type: ['boolean', 'null'] };
    case 'tinyint':
    case 'smallint':
    case 'integer':
      return { type: ['integer', 'null'], format: 'int32' };
    case 'bigint':
      return { type: ['integer', 'null'], format: 'int64' };
    case 'real':
    case 'double':
      return refTo('schemas', 'Double');
    case 'hugeint':
    case 'uint256':
    case 'int256':
      return { type: ['string', 'null'], pattern: '^-?[0-9]+$' };
    case 'decimal':
      return { type: ['string', 'null'], pattern: '^-?[0-9]+(\\.[0-9]+)?$' };
    case 'varbinary':
      return { type: ['string', 'null'], pattern: '^0x([0-9a-f]{2})*$' };
    case 'date':
      return { type: ['string', 'null'], description: 'For example `2024-03-05`.' };
    case 'timestamp': {
      const example = `2024-03-05 20:50:59.${'0'.repeat(type.digits)}${type.withZone ? ' UTC' : ''}`;
      return { type: ['string', 'null'], description: `For example \`${example}\`.` };
    }
    case 'varchar':
    case 'json':
    case 'uuid':
    case 'interval':
    case 'time':
      return { type: ['string', 'null'] };
    case 'array':
      return { type: ['array', 'null'], items: columnSchema(type.element) };
    case 'map':
      return { type: ['object', 'null'], additionalProperties: columnSchema(type.value) };
    case 'row':
      return {
        type: ['object', 'null'],
        properties: Object.fromEntries(type.fields.map((field) => [field.name, columnSchema(field.type)])),
      };
    default:
      return type satisfies never;
  }
}
