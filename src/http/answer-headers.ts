/**
 * The headers of an answer whose names are ours: each exists once under every compatible prefix. The address of the next page is as long as
 * the filters in it, and some clients read no more than 8 KB of head, or of one line (aiohttp; Node's fetch reads 16 KB in all). So the
 * address is repeated under all names as long as that fits; a longer one stands in `Link` alone; one too long for that is left out. The
 * offset is always there.
 */

/** Headers that are HTTP's; all others are ours. */
const STANDARD_HEADERS: ReadonlySet<string> = new Set([
  'link',
  'cache-control',
  'last-modified',
  'content-disposition',
]);
/** What the head may have in all. */
const HEAD_BYTES_MAX = 8192;
/** Left for the head's other lines: the status, the request's id, limits, protection, validators, other origins. */
const OTHERS_BYTES = 2048;

type Header = readonly [name: string, value: string];

/** @param prefixes `X-Service`, and those of compatible services */
export function answerHeaders(
  headers: Readonly<Record<string, string>>,
  prefixes: readonly string[],
): readonly Header[] {
  const { link, 'next-uri': nextUri, ...rest } = headers;
  const named = (name: string, value: string): readonly Header[] =>
    STANDARD_HEADERS.has(name) ? [[name, value]] : prefixes.map((prefix) => [`${prefix}-${name}`, value]);
  const always = Object.entries(rest).flatMap(([name, value]) => named(name, value));
  if (link === undefined) return always;
  const room = HEAD_BYTES_MAX - OTHERS_BYTES - bytesOf(always);
  const inLink = named('link', link);
  const everywhere = nextUri === undefined ? inLink : [...inLink, ...named('next-uri', nextUri)];
  return [...always, ...([everywhere, inLink].find((addresses) => bytesOf(addresses) <= room) ?? [])];
}

/** Their bytes on the wire: each has a colon, a blank and a line's end beside. Addresses are ASCII. */
function bytesOf(headers: readonly Header[]): number {
  return headers.reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0);
}
