/** The one place where text becomes part of a SQL statement. What users type never comes here: it travels as parameters. */

/** A SQL text literal. U+0000 ends a statement for DuckDB's parser, so a text that holds one is put together. */
export function quoteText(text: string): string {
  const [only = '', ...rest] = text.split('\0').map((piece) => `'${piece.replaceAll("'", "''")}'`);
  return rest.length === 0 ? only : `(${[only, ...rest].join(' || chr(0) || ')})`;
}

/** A SQL identifier. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
