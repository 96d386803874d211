/** The one place where text becomes part of a SQL statement. What users type never comes here: it travels as parameters. */

/** A SQL text literal. */
export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A SQL identifier. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
