/** How many columns of a terminal a text takes, what of it fits, and how it is shown without moving the cursor. */

/** Two columns each: of East Asian scripts, and pictures. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
const NONE = /\p{Mn}|\p{Me}|[\u200b-\u200d]/u;
/** What a terminal obeys instead of showing it: control characters, and marks that turn the direction of writing. */
const OBEYED = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;
const ASCII = /^[\x20-\x7e]*$/;
const ELLIPSIS = '…';

export function textWidth(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += widthOf(character);
  return width;
}

/** The text, or as much of it as fits, with a mark at its end. */
export function cutTo(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  let kept = '';
  let left = width - 1;
  for (const character of text) {
    left -= widthOf(character);
    if (left < 0) break;
    kept += character;
  }
  return kept + ELLIPSIS;
}

/** On one line, and harmless: a line break as `\n`, an escape as `\u001b`. */
export function shownText(text: string): string {
  return text.replace(OBEYED, (character) => {
    const short = JSON.stringify(character).slice(1, -1);
    return short.length > 1 ? short : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

function widthOf(character: string): number {
  if (NONE.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}
