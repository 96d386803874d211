/**
 * Reads that nobody has asked for yet. They are answered by row files, or not at all: DuckDB does nothing for them, they take none of the
 * places that their key has for heavy reads, and what would be too large for memory is not read.
 */
import type { ReadDeps } from './open-page.ts';

/** One for all: nobody sees it. */
const NOT_LIGHT = new Error('row files alone do not answer this');

/** The same, where whatever takes more than row files fails. */
export function lightOnly(read: ReadDeps): ReadDeps {
  const refuse = async (): Promise<never> => {
    throw NOT_LIGHT;
  };
  const turns = { run: refuse, running: 0 };
  return {
    ...read,
    pageTurns: turns,
    wideReads: turns,
    searches: turns,
    exports: turns,
    limiter: { acquire: refuse, running: 0, waiting: 0 },
    exclusion: { exclude: refuse },
  };
}
