/**
 * The text of `--types` and of the parameter `types`: `price=decimal(10, 3),to=varbinary`. A comma or an equals sign inside parentheses or double quotes
 * separates nothing; a column name in double quotes may have both (`"a,b"=uint256`, a quote inside doubled).
 */
import { type ColumnType, ColumnTypeError, parseColumnType } from './column-type.ts';

/** What is wrong with a declaration, as a sentence. */
export class TypeDeclarationError extends Error {}

const DECLARATIONS_MAX = 10_000;

/** Column → type, of these texts and those before. @throws TypeDeclarationError */
export function typeDeclarations(
  texts: readonly string[],
  before: ReadonlyMap<string, ColumnType> = new Map(),
): ReadonlyMap<string, ColumnType> {
  const types = new Map(before);
  for (const declaration of texts.flatMap((text) => splitOutside(text, ','))) {
    if (types.size >= DECLARATIONS_MAX) {
      throw new TypeDeclarationError(`The types of at most ${DECLARATIONS_MAX} columns can be declared.`);
    }
    const [name, ...type] = splitOutside(declaration, '=');
    if (name === undefined || type.length === 0) {
      throw new TypeDeclarationError(`A declaration is COLUMN=TYPE; "${declaration.trim()}" is none.`);
    }
    const column = unquote(name.trim());
    if (types.has(column)) throw new TypeDeclarationError(`The type of "${column}" is declared twice.`);
    types.set(column, readType(column, type.join('=')));
  }
  return types;
}

function readType(column: string, text: string): ColumnType {
  try {
    return parseColumnType(text.trim());
  } catch (error) {
    if (error instanceof ColumnTypeError) throw new TypeDeclarationError(`Column "${column}": ${error.message}.`);
    throw error;
  }
}

/** The pieces between separators that stand outside parentheses and double quotes. */
function splitOutside(text: string, separator: string): readonly string[] {
  const byteChunks: string[] = [];
  let depth = 0;
  let quoted = false;
  let start = 0;
  for (let at = 0; at < text.length; at += 1) {
    const mark = text[at];
    if (mark === '"') quoted = !quoted;
    else if (quoted) continue;
    else if (mark === '(') depth += 1;
    else if (mark === ')') depth -= 1;
    else if (mark === separator && depth === 0) {
      byteChunks.push(text.slice(start, at));
      start = at + 1;
    }
  }
  byteChunks.push(text.slice(start));
  return byteChunks;
}

function unquote(name: string): string {
  return name.length >= 2 && name.startsWith('"') && name.endsWith('"')
    ? name.slice(1, -1).replaceAll('""', '"')
    : name;
}
