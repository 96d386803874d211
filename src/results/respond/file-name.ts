/**
 * What a download is called (RFC 6266): query, run and format, `volumes_01HR7PD8XYZ3M4N5P6Q7R8S9TA.csv`. The name of a query is free
 * text, so characters that some file system refuses are left out; what is not ASCII is said in `filename*`, and to readers that know only
 * `filename` in a plainer form.
 */
import type { Latest } from '../cache/catalog-cache.ts';
import type { Format } from '../request/format.ts';

/** Of the query's name so many characters are taken: file systems have names of 255 bytes, a character up to four. */
const NAME_CHARACTERS_MAX = 40;

/** The header that says what to call the answer. A browser shows JSON, and saves the other formats. */
export function fileHeaders({ execution, queryName }: Latest, format: Format): Readonly<Record<string, string>> {
  const kind = format === 'json' ? 'inline' : 'attachment';
  const rest = `_${execution.id}.${format}`;
  const name = fileNameOf(queryName ?? '');
  const plain = fileNameOf(name.normalize('NFKD').replaceAll(/[^\x20-\x7e]/g, ''));
  const byId = `query-${execution.queryId}`;
  const both = name !== plain;
  const extended = both ? `; filename*=UTF-8''${percentEncoded(name + rest)}` : '';
  return { 'content-disposition': `${kind}; filename="${plain === '' ? byId : plain}${rest}"${extended}` };
}

/** In the characters of a name that every file system and shell takes. */
function fileNameOf(text: string): string {
  const safe = text.replaceAll(/[\p{C}\p{Z}"'`$&;%!*?<>|:/\\(){}[\]]+/gu, '_').replaceAll(/^[._-]+|[._-]+$/g, '');
  return [...safe]
    .slice(0, NAME_CHARACTERS_MAX)
    .join('')
    .replaceAll(/[._-]+$/g, '');
}

/** RFC 8187: of a file name without the characters that are left out above, this is all it asks for. */
function percentEncoded(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16)}`);
}
