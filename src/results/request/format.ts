/**
 * The formats of an answer: what each is called in the parameter `format`, in a sentence and in HTTP. The format is known before anything is
 * looked up. A value that names no format is refused later, in turn with the other parameters.
 */
import { shortened } from '../../domain/shortened.ts';
import { RequestError } from '../../errors/errors.ts';
import { parameterOf, type QueryParameters } from './query-string.ts';
import { SHARED_PARAMETERS } from './shared-parameters.ts';

/** Formats that are text, made row by row. */
export type TextFormat = 'json' | 'csv' | 'ndjson';

export type Format = TextFormat | 'parquet';

/** In the order in which one is chosen among those that a client likes equally. */
export const FORMATS = SHARED_PARAMETERS.format.choices satisfies readonly Format[];

export const CONTENT_TYPES: Readonly<Record<Format, string>> = {
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8',
  parquet: 'application/vnd.apache.parquet',
};

/** The registered and the usual names of each format, as `Accept` takes them. `format` takes what follows the slash, too: `jsonl`. */
export const MEDIA_TYPES: Readonly<Record<Format, readonly string[]>> = {
  json: ['application/json'],
  ndjson: ['application/x-ndjson', 'application/ndjson', 'application/jsonl'],
  csv: ['text/csv'],
  parquet: ['application/vnd.apache.parquet', 'application/x-parquet'],
};

/** As a person calls it. */
export const FORMAT_NAMES: Readonly<Record<Format, string>> = {
  json: 'JSON',
  ndjson: 'NDJSON',
  csv: 'CSV',
  parquet: 'Parquet',
};

/** The format that the parameters name; undefined when they name none, or none that there is. */
export function namedFormat(parameters: QueryParameters): Format | undefined {
  const value = parameters.get(SHARED_PARAMETERS.format.name)?.find((sent) => sent !== '');
  return formatOf(value);
}

/**
 * @param format in which the answer will be: the parameter must not name another one
 * @throws RequestError invalid_parameter
 */
export function requireFormat(parameters: QueryParameters, format: Format): void {
  const { name } = SHARED_PARAMETERS.format;
  const value = parameterOf(parameters, name);
  if (value === undefined) return;
  const named = formatOf(value);
  if (named === format) return;
  throw new RequestError(
    'invalid_parameter',
    named === undefined
      ? `${name}: found "${shortened(value, 60)}", expected one of ${FORMATS.join(', ')}`
      : `${name}: found "${value}", but the address asks for ${format}; ${named} is at the same address without /${format}`,
  );
}

function formatOf(value: string | undefined): Format | undefined {
  const lower = value?.toLowerCase();
  if (lower === undefined) return undefined;
  const names = (format: Format) => MEDIA_TYPES[format].flatMap((type) => [type, type.split('/')[1]]);
  return FORMATS.find((format) => format === lower || names(format).includes(lower));
}
