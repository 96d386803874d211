/**
 * An expression in a field of one line, in which browsers leave line ends out: a text that an expression compares with may have some. They
 * are shown as their pictures, and typed as these.
 */

const PICTURES = [
  ['\n', '␊'],
  ['\r', '␍'],
] as const;

/** Whether it has a picture itself: then none stands for a line end. */
function hasPicture(text: string): boolean {
  return PICTURES.some(([, picture]) => text.includes(picture));
}

export function oneLine(text: string): string {
  if (hasPicture(text)) return text;
  return PICTURES.reduce((line, [end, picture]) => line.replaceAll(end, picture), text);
}

/** @param text what the field was given, before it was edited */
export function withLineEnds(line: string, text: string): string {
  if (hasPicture(text)) return line;
  return PICTURES.reduce((whole, [end, picture]) => whole.replaceAll(picture, end), line);
}
