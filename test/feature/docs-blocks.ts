/**
 * The fenced blocks of README.md and docs: the shell commands (`sh`), the reason why one is not run, and the programs of a
 * page.
 */
import { globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

export interface ShellBlock {
  /** File and line of the fence: `docs/reference/api.md:32`. */
  readonly place: string;
  readonly page: string;
  readonly script: string;
  /** From the comment `<!-- not run: REASON -->` on the line before the fence, which readers of the page do not see. */
  readonly notRun: string | undefined;
}

/** In the order in which a reader meets them. */
export function shellBlocks(): readonly ShellBlock[] {
  const pages = globSync(['README.md', 'docs/**/*.md'], { cwd: ROOT }).sort();
  return pages.flatMap((page) => blocksOf(relative(ROOT, join(ROOT, page)), readFileSync(join(ROOT, page), 'utf8')));
}

function blocksOf(page: string, text: string): readonly ShellBlock[] {
  return [...text.matchAll(/^(?:<!-- not run: ([^\n]*) -->\n)?```sh\n(.*?)^```$/gms)].map((match) => {
    const [whole, notRun, script = ''] = match;
    const line = text.slice(0, match.index + whole.indexOf('```sh')).split('\n').length;
    return { place: `${page}:${line}`, page, script, notRun };
  });
}

/** The fenced `ts` blocks of one page. */
export function programsOf(page: string): readonly { readonly place: string; readonly text: string }[] {
  const all = readFileSync(join(ROOT, page), 'utf8');
  return [...all.matchAll(/^```ts\n(.*?)^```$/gms)].map(({ index, 1: text = '' }) => ({
    place: `${page}:${all.slice(0, index).split('\n').length}`,
    text,
  }));
}
