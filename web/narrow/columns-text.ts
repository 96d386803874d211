/** Reads and writes the text of `columns`: names separated by commas. A name with a comma, a quote or blanks at its ends is quoted, and an empty one. */

/** The text that names these columns, in this order. */
export function columnsText(names: readonly string[]): string {
  return names
    .map((name) => (/[",]|^\s|\s$|^$/.test(name) ? `"${name.replaceAll(/["\\]/g, '\\$&')}"` : name))
    .join(',');
}

/** One name, quoted or bare, and what ends it. A backslash escapes a quote and itself, and is itself before all else. */
const NAME = /\s*(?:"((?:""|\\["\\]|\\(?!["\\])|[^"\\])*)"|([^",\s][^,]*))\s*(,|$)/y;

/** The names, as the service reads them; undefined for a text that it refuses. */
export function namesIn(columns: string): readonly string[] | undefined {
  const names: string[] = [];
  NAME.lastIndex = 0;
  for (;;) {
    const [, quoted, bare = '', separator] = NAME.exec(columns) ?? [];
    if (separator === undefined) return undefined;
    names.push(quoted?.replaceAll(/""|\\["\\]/g, (pair) => pair.slice(1)) ?? bare.trim());
    if (separator === '') return names;
  }
}
