/**
 * What `search` means, written down a second time as plainly as possible, over cells as CSV shows them: no SQL, and no type is left out
 * early. Tests compare the service with this.
 */
import type { ColumnType } from '../../src/domain/column-type.ts';

/** @param fields of each row as CSV shows them, without quotes @returns whether each row has a value that contains the text */
export function searchRows(
  types: readonly ColumnType[],
  fields: readonly (readonly string[])[],
  text: string,
): readonly boolean[] {
  const wanted = foldCase(text);
  const finds = (type: ColumnType, shown: string) =>
    isSearched(type, wanted) && foldCase(shown).includes(wanted) && shown !== '';
  return fields.map((row) =>
    types.some((type, column) => {
      const shown = row[column] ?? '';
      if (type.kind !== 'array') return finds(type, shown);
      return elementsOf(shown).some((element) => finds(type.element, element));
    }),
  );
}

/**
 * Each character in lower case, by itself: no character becomes two, and none depends on its neighbours. JavaScript makes two of the dotted
 * capital I, and of a last sigma another one than of the rest.
 */
export function foldCase(text: string): string {
  return [...text].map((character) => (character === 'İ' ? 'i' : character.toLowerCase())).join('');
}

function isSearched({ kind }: ColumnType, wanted: string): boolean {
  switch (kind) {
    case 'varchar':
    case 'json':
    case 'varbinary':
    case 'uuid':
    case 'interval':
      return true;
    case 'boolean':
    case 'array':
    case 'map':
    case 'row':
      return false;
    default:
      return /[0-9]/.test(wanted);
  }
}

/** Of a list in compact JSON. */
function elementsOf(json: string): readonly string[] {
  const tokens = json.match(/"(?:[^"\\]|\\.)*"|[-+.0-9eE]+/g) ?? [];
  return tokens.map((token) => (token.startsWith('"') ? String(JSON.parse(token)) : token));
}
