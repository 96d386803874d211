/** The formats besides JSON in which an address that answers with JSON answers when asked to. */
import { CONTENT_TYPES, type Format } from '../../results/request/format.ts';
import { EXAMPLE_CSV, EXAMPLE_NDJSON } from './examples.ts';
import type { Fragment } from './schema.ts';

export function mediaTypeOf(format: Format): string {
  return CONTENT_TYPES[format].split(';')[0] ?? '';
}

export const CSV_CONTENT: Fragment = {
  [mediaTypeOf('csv')]: { schema: { type: 'string', pattern: '\\n$' }, example: EXAMPLE_CSV },
};

/** Chosen with `Accept` or `format`. */
export const OTHER_CONTENTS: Fragment = {
  [mediaTypeOf('ndjson')]: {
    schema: { type: 'string', description: 'A row on each line, as it stands in JSON.', pattern: '^$|\\n$' },
    example: EXAMPLE_NDJSON,
  },
  ...CSV_CONTENT,
  [mediaTypeOf('parquet')]: {
    schema: {
      type: 'string',
      format: 'binary',
      description: 'One file, with the names and types of the columns. Without an `ETag`; never compressed once more.',
    },
  },
};
