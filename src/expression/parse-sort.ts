/** The sort language: `column [asc|desc] [nulls first|last]`, comma-separated (contract §5). */
import { expressionError, type Source } from './expression-error.ts';
import type { ExpressionLimits } from './limits.ts';
import { bareWord, TokenReader } from './token-reader.ts';
import type { SortExpression, SortKey } from './tree.ts';

/** @throws ExpressionError sort_syntax · sort_limit */
export function parseSort(text: string, limits: ExpressionLimits): SortExpression {
  const source: Source = { parameter: 'sort_by', text };
  if (text.length > limits.lengthMax) {
    const at = { offset: limits.lengthMax, length: text.length - limits.lengthMax };
    const sentence = `the expression has ${text.length} characters, at most ${limits.lengthMax} are read.`;
    throw expressionError(source, 'limit', at, sentence);
  }
  const reader = new TokenReader(source);
  const keys: SortKey[] = [];
  do {
    if (keys.length === limits.sortKeysMax) {
      throw expressionError(
        source,
        'limit',
        reader.token.at,
        `there are more than ${limits.sortKeysMax} columns to sort by.`,
      );
    }
    keys.push(sortKey(reader));
  } while (reader.acceptMark(','));
  return { text, keys };
}

function sortKey(reader: TokenReader): SortKey {
  const { token } = reader;
  // At the start, two such words can only mean `order by x`. Every other word is a column, `desc` and `first` too.
  if (token.kind !== 'word' || (reader.isWord('order') && reader.isWord('by', 1))) {
    if (token.kind === 'word') reader.advance();
    throw reader.unexpected('the name of a column');
  }
  reader.advance();
  const name = { kind: 'name', text: token.text, quoted: token.quoted, at: token.at } as const;
  const descending = reader.acceptWord('desc');
  const directed = descending || reader.acceptWord('asc');
  const placed = reader.acceptWord('nulls');
  const nullsFirst = placed && placedFirst(reader);
  if (reader.token.kind !== 'end' && !reader.isMark(',')) {
    const words = [...(directed || placed ? [] : ['desc', 'asc']), ...(placed ? [] : ['nulls'])];
    const next = [...words, ','].map((word) => (word === 'nulls' ? '"nulls first", "nulls last"' : `"${word}"`));
    throw reader.unexpected(`${next.join(', ')} or the end`, words);
  }
  return { name, descending, nullsFirst, at: reader.since(token) };
}

function placedFirst(reader: TokenReader): boolean {
  const word = bareWord(reader.token);
  if (word !== 'first' && word !== 'last')
    throw reader.unexpected('"first" or "last" after "nulls"', ['first', 'last']);
  reader.advance();
  return word === 'first';
}
