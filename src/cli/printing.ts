/**
 * What commands print. Standard output is for scripts: one value a line, or JSON; everything else goes to standard error
 * (contract §7).
 */
import type { CommandContext } from './command-context.ts';

/** One line each. Line breaks inside a value would make two values of it, so they become blanks. */
export function printLines(context: CommandContext, values: Iterable<string | number>): void {
  let text = '';
  for (const value of values) text += `${String(value).replace(/[\r\n]+/g, ' ')}\n`;
  context.stdout.write(text);
}

/** One line of JSON. Names are snake_case; what is undefined is absent. */
export function printJson(context: CommandContext, value: object): void {
  context.stdout.write(`${JSON.stringify(value)}\n`);
}

/** A word to whoever is watching. */
export function tell(context: CommandContext, text: string): void {
  context.stderr.write(`${text}\n`);
}
