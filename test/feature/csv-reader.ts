/**
 * A strict reader of RFC 4180 as contract §6 has it: commas, LF only, LF after the last line, quotes only where a field needs
 * them.
 */

export interface CsvField {
  readonly text: string;
  /** Tells the empty string from null. */
  readonly quoted: boolean;
}

/** @returns the lines, the header first @throws at the first character that may not be there */
export function readCsv(csv: string): readonly (readonly CsvField[])[] {
  const lines: CsvField[][] = [];
  let line: CsvField[] = [];
  let at = 0;
  while (at < csv.length) {
    const [field, end] = csv[at] === '"' ? quotedField(csv, at + 1) : bareField(csv, at);
    line.push(field);
    const mark = csv[end];
    if (mark === '\n') {
      lines.push(line);
      line = [];
    } else if (mark !== ',') throw wrong(csv, end, 'a comma or a line feed');
    at = end + 1;
    // After a comma at the very end comes one more, empty field.
    if (at === csv.length && mark === ',') throw wrong(csv, at, 'a field');
  }
  if (line.length > 0) throw wrong(csv, at, 'a line feed at the end');
  return lines;
}

function bareField(csv: string, from: number): [CsvField, number] {
  const text = /[^,\n\r"]*/y;
  text.lastIndex = from;
  const found = text.exec(csv)?.[0] ?? '';
  return [{ text: found, quoted: false }, from + found.length];
}

function quotedField(csv: string, from: number): [CsvField, number] {
  const inside = /(?:[^"]|"")*/y;
  inside.lastIndex = from;
  const found = inside.exec(csv)?.[0] ?? '';
  const end = from + found.length;
  if (csv[end] !== '"') throw wrong(csv, end, 'a closing quote');
  return [{ text: found.replaceAll('""', '"'), quoted: true }, end + 1];
}

function wrong(csv: string, at: number, expected: string): Error {
  return new Error(`character ${at}: found ${JSON.stringify(csv.slice(at, at + 20))}, expected ${expected}`);
}
