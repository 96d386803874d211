/** The formats besides JSON in which an address that answers with JSON answers when asked to. */
import { CONTENT_TYPES, type Format } from '../../results/request/format.ts';
import { EXAMPLE_CSV, EXAMPLE_NDJSON } from './examples.ts';
import { type Fragment, refTo } from './schema.ts';

function mediaTypeOf(format: Format): string {
  return CONTENT_TYPES[format].split(';')[0] ?? '';
}

export const CSV_CONTENT: Fragment = { [mediaTypeOf('csv')]: { schema: refTo('schemas', 'Csv') } };

/** Chosen with `Accept` or `format`. */
export const OTHER_CONTENTS: Fragment = {
  [mediaTypeOf('ndjson')]: { schema: refTo('schemas', 'Ndjson') },
  ...CSV_CONTENT,
  [mediaTypeOf('parquet')]: { schema: refTo('schemas', 'Parquet') },
};

export const FORMAT_SCHEMAS: Readonly<Record<string, Fragment>> = {
  Ndjson: {
    type: 'string',
    description: 'A JSON object on each line, one for each row.',
    pattern: '^$|\\n$',
    examples: [EXAMPLE_NDJSON],
  },
  Csv: { type: 'string', pattern: '\\n$', examples: [EXAMPLE_CSV] },
  Parquet: {
    type: 'string',
    format: 'binary',
    description:
      'One file, with the names and types of the columns. Never compressed once more; `HEAD` makes none, and says its length if there was one before.',
  },
};
