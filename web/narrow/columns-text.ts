/** Reads and writes the text of `columns`: names separated by commas. A name with a comma, a quote or blanks at its ends is quoted, and an empty one. */

export function columnsText(names: readonly string[]): string {
  return names
    .map((name) => (/[",]|^\s|\s$|^$/.test(name) ? `"${name.replaceAll(/["\\]/g, '\\$&')}"` : name))
    .join(',');
}

export function namesIn(columns: string): readonly string[] {
  const parts = columns.match(/\s*"(?:[^"\\]|""|\\[\s\S])*"\s*|[^,]+/g) ?? [];
  return parts.map((part) => {
    const name = part.trim();
    return name.startsWith('"') ? name.slice(1, -1).replaceAll(/""|\\["\\]/g, (pair) => pair.slice(1)) : name;
  });
}
