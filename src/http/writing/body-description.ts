/** What a client says about the file in a body: its format, the encoding of its text, its compression (contract §9). */
import { shortened } from '../../domain/shortened.ts';
import { RequestError } from '../../errors/errors.ts';
import { MEDIA_TYPES } from '../../results/request/format.ts';

export interface BodyDescription {
  /** Undefined where the client does not say: then the file's first bytes decide. */
  readonly format?: 'parquet' | 'csv' | 'ndjson';
  readonly encoding?: 'utf-8' | 'utf-16' | 'utf-16le' | 'utf-16be' | 'latin-1' | 'windows-1252';
  readonly compression?: 'gzip' | 'zstd';
}

const FORMATS = ['parquet', 'csv', 'ndjson'] as const;
/**
 * Content types that say nothing about the format. `fetch` sends `text/plain` for any text, and curl sends
 * `application/x-www-form-urlencoded` for everything in `--data-binary`.
 */
const UNSAID = ['', 'application/octet-stream', 'text/plain', 'application/x-www-form-urlencoded'];

const CHARSETS: Readonly<Record<string, NonNullable<BodyDescription['encoding']>>> = {
  'utf-8': 'utf-8',
  utf8: 'utf-8',
  'us-ascii': 'utf-8',
  'utf-16': 'utf-16',
  'utf-16le': 'utf-16le',
  'utf-16be': 'utf-16be',
  'iso-8859-1': 'latin-1',
  latin1: 'latin-1',
  'latin-1': 'latin-1',
  'windows-1252': 'windows-1252',
};

/** @throws RequestError unsupported_media_type */
export function describeBody(contentType = '', contentEncoding = ''): BodyDescription {
  const [type = '', ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase());
  const format = FORMATS.find((known) => MEDIA_TYPES[known].includes(type));
  if (format === undefined && !UNSAID.includes(type)) {
    const known = FORMATS.flatMap((name) => MEDIA_TYPES[name]).join(', ');
    throw unsupported('Content-Type', contentType, `one of ${known}, or none where the first bytes tell`);
  }
  // RFC 4180: then the first row would be taken for the names.
  if (parameters.some((parameter) => /^header="?absent"?$/.test(parameter))) {
    throw unsupported('the header of Content-Type', 'absent', 'present: a line with the names of the columns');
  }
  const compression = compressionOf(contentEncoding);
  const encoding = charsetOf(parameters);
  return {
    ...(format !== undefined && { format }),
    ...(encoding !== undefined && { encoding }),
    ...(compression !== undefined && { compression }),
  };
}

function compressionOf(contentEncoding: string): BodyDescription['compression'] {
  switch (contentEncoding.trim().toLowerCase()) {
    case '':
    case 'identity':
      return undefined;
    case 'gzip':
    case 'x-gzip':
      return 'gzip';
    case 'zstd':
      return 'zstd';
    default:
      throw unsupported('Content-Encoding', contentEncoding, 'gzip, zstd or none');
  }
}

/** @throws RequestError unsupported_media_type for JSON that is compressed */
export function refuseEncoding(contentEncoding = ''): void {
  if (['', 'identity'].includes(contentEncoding.trim().toLowerCase())) return;
  throw unsupported('Content-Encoding', contentEncoding, 'none: JSON is sent as it is');
}

function charsetOf(parameters: readonly string[]): BodyDescription['encoding'] {
  const charset = parameters.find((parameter) => parameter.startsWith('charset='));
  if (charset === undefined) return undefined;
  const name = charset.slice('charset='.length).replaceAll('"', '');
  const encoding = Object.hasOwn(CHARSETS, name) ? CHARSETS[name] : undefined;
  if (encoding !== undefined) return encoding;
  throw unsupported('the charset of Content-Type', name, `one of ${Object.keys(CHARSETS).join(', ')}`);
}

/** That a body is not of a kind that is read. */
export function unsupported(what: string, found: string, expected: string): RequestError {
  return new RequestError('unsupported_media_type', `${what}: found "${shortened(found, 60)}", expected ${expected}`);
}
