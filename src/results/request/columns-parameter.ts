/**
 * The `columns` parameter (contract §1): names split on commas outside double quotes, blanks trimmed, a name in double
 * quotes taken as it stands, but for `""` or `\"`, a quote inside, and `\\`, a backslash. Without `\\` a name that ends with a backslash could
 * not be closed. Before another character a backslash is itself.
 */
import { RequestError } from '../../errors/errors.ts';

/** @throws RequestError for an open quote, an empty name, or text after a closing quote */
export function parseColumnNames(text: string): readonly string[] {
  const names: string[] = [];
  let at = 0;
  do {
    const [name, end] = text.slice(at).trimStart().startsWith('"') ? quoted(text, at) : bare(text, at);
    names.push(name);
    at = end + 1;
  } while (at <= text.length);
  return names;
}

function bare(text: string, from: number): [name: string, end: number] {
  const comma = text.indexOf(',', from);
  const end = comma < 0 ? text.length : comma;
  const name = text.slice(from, end).trim();
  if (name === '') throw wrong(from, 'found no column name, expected one on each side of a comma');
  return [name, end];
}

function quoted(text: string, from: number): [name: string, end: number] {
  const open = text.indexOf('"', from);
  let name = '';
  let at = open + 1;
  for (; ; at += 1) {
    if (at >= text.length) throw wrong(open, 'found a double quote that is never closed');
    const pair = text.slice(at, at + 2);
    if (pair === '""' || pair === '\\"' || pair === '\\\\') {
      name += pair[1];
      at += 1;
    } else if (text[at] === '"') break;
    else name += text[at];
  }
  const comma = text.indexOf(',', at);
  const end = comma < 0 ? text.length : comma;
  if (text.slice(at + 1, end).trim() !== '') throw wrong(at + 1, 'found text after a closing quote, expected a comma');
  return [name, end];
}

function wrong(at: number, what: string): RequestError {
  return new RequestError('invalid_parameter', `columns, position ${at + 1}: ${what}`);
}
