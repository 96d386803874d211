/**
 * LIKE patterns: `%` stands for any text, `_` for any one character, and after the escape character, if one was named,
 * both stand for themselves.
 */

/** Neighbouring `any` are one; texts are never empty. */
export type LikePattern = readonly LikePart[];

export type LikePart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'one' }
  | { readonly kind: 'any' };

/**
 * Matching takes time in the product of the lengths of pattern and text at worst: at this many wildcards a text of a
 * million characters takes less than a second.
 */
export const WILDCARDS_MAX = 100;
/** In code units. */
export const PATTERN_LENGTH_MAX = 1_000;

export type ParsedPattern =
  | { readonly kind: 'pattern'; readonly pattern: LikePattern }
  | { readonly kind: 'open-escape' }
  | { readonly kind: 'too-long' }
  | { readonly kind: 'too-many-wildcards' };

export function parsePattern(text: string, escapeCharacter: string | undefined): ParsedPattern {
  if (text.length > PATTERN_LENGTH_MAX) return { kind: 'too-long' };
  const parts: LikePart[] = [];
  let literal = '';
  let wildcards = 0;
  let escaped = false;
  const wildcard = (kind: 'one' | 'any') => {
    if (literal !== '') parts.push({ kind: 'text', text: literal });
    literal = '';
    if (kind === 'any' && parts.at(-1)?.kind === 'any') return;
    parts.push({ kind });
    wildcards += 1;
  };
  for (const character of text) {
    if (escaped) {
      literal += character;
      escaped = false;
    } else if (character === escapeCharacter) escaped = true;
    else if (character === '%') wildcard('any');
    else if (character === '_') wildcard('one');
    else literal += character;
  }
  if (escaped) return { kind: 'open-escape' };
  if (wildcards > WILDCARDS_MAX) return { kind: 'too-many-wildcards' };
  if (literal !== '') parts.push({ kind: 'text', text: literal });
  return { kind: 'pattern', pattern: parts };
}
