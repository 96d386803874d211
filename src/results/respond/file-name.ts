/**
 * The file name of a download (RFC 6266): query, run and format, `volumes_01HR7PD8XYZ3M4N5P6Q7R8S9TA.csv`. A query's name is
 * free text. Characters that some file system refuses are left out. Other than ASCII goes into `filename*`, and a plain form
 * into `filename` for readers that know only that.
 */
import type { Latest } from '../cache/catalog-cache.ts';
import type { Format } from '../request/format.ts';

/** The most characters of the query's name: file systems allow 255 bytes, and a character takes up to four. */
const NAME_CHARACTERS_MAX = 40;

/** The header that names the file. A browser shows JSON and saves the other formats. */
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

/** Leaves only characters that every file system and shell takes. */
function fileNameOf(text: string): string {
  const safe = text.replaceAll(/[\p{C}\p{Z}"'`$&;%!*?<>|:/\\(){}[\]]+/gu, '_').replaceAll(/^[._-]+|[._-]+$/g, '');
  return [...safe]
    .slice(0, NAME_CHARACTERS_MAX)
    .join('')
    .replaceAll(/[._-]+$/g, '');
}

/** RFC 8187. The characters that need more than this are left out above. */
function percentEncoded(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16)}`);
}
