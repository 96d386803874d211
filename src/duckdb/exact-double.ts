/** Which numbers, as text, a double holds without losing a digit. */

/**
 * SQL: whether the text `column` is a number that reads back from a double as it was written: with at most 15 digits always; with
 * more, when they are the digits that the double prints, in its shortest form or in full (as C's %.17g and %.18e do).
 * @param double SQL for the same text as a DOUBLE
 */
export function isExactDouble(column: string, double = `TRY_CAST(${column} AS DOUBLE)`): string {
  const leadingZero = (sign: string) => `(${column} >= '${sign}00' AND ${column} < '${sign}0:')`;
  // The first character is one of - . / 0–9, as cheap comparisons; a slash fails in the cast.
  const clean = `${column} >= '-' AND ${column} < ':' AND NOT ${leadingZero('')} AND NOT ${leadingZero('-')}
    AND NOT contains(${column}, ' ') AND NOT contains(${column}, '_') AND isfinite(${double})`;
  const exponent = `(contains(${column}, 'e') OR contains(${column}, 'E'))`;
  const short = `(strlen(${column}) <= 15 OR strlen(${column}) = 16 AND contains(${column}, '.')) AND NOT ${exponent}`;
  const digits = significantDigits(column);
  const printed = [`${double}::VARCHAR`, `format('{:.16e}', ${double})`, `format('{:.18e}', ${double})`];
  // Nested CASEs, from cheap to dear: DuckDB works out both sides of an OR for every row.
  return `CASE WHEN NOT (${clean}) THEN false WHEN ${short} THEN true WHEN ${double}::VARCHAR = ${column} THEN true
    ${printed.map((p) => `WHEN ${digits} = ${significantDigits(p)} THEN true`).join(' ')} ELSE false END`;
}

/** SQL: the digits of the number that the text `number` is, without zeros at either end: of two numbers of one size, the same only if they are equal. */
export function significantDigits(number: string): string {
  return `trim(translate(regexp_replace(${number}, '[eE].*', ''), '-+.', ''), '0')`;
}
