/** The Accept header → the format of an answer (RFC 9110 §12.5.1). Whoever asks for nothing that there is gets JSON. */
import Negotiator from 'negotiator';
import { FORMATS, type Format, MEDIA_TYPES } from './format.ts';

/** Longer than any client's Accept or Accept-Encoding. Longer ones are ignored: to read one as long as a header may be takes tens of milliseconds. */
export const ACCEPT_CHARACTERS_MAX = 4096;

/** Each name also with the charset that all text has, since a client may ask for that. */
const FORMAT_OF: ReadonlyMap<string, Format> = new Map(
  FORMATS.flatMap((format) =>
    MEDIA_TYPES[format].map((type) => [format === 'parquet' ? type : `${type};charset=utf-8`, format] as const),
  ),
);
const AVAILABLE = [...FORMAT_OF.keys()];

/**
 * The format with the greatest weight. Among equal ones a type that is named wins over a wildcard, then the one that the
 * client names first, and then the order of FORMATS decides.
 */
export function acceptedFormat(header: string | undefined): Format {
  if (header === undefined || header === '*/*' || header.length > ACCEPT_CHARACTERS_MAX) return 'json';
  const [best] = new Negotiator({ headers: { accept: header } }).mediaTypes(AVAILABLE);
  return (best === undefined ? undefined : FORMAT_OF.get(best)) ?? 'json';
}
