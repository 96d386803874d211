/**
 * SQL files with named gaps: `{{net_shares}}` stands for a fragment of SQL that several datasets share, or for a column
 * name that a setting decides. Our own text only; checked when it is loaded, so that a gap left open never reaches an engine.
 */

const GAP = /\{\{([A-Za-z0-9_]+)\}\}/g;

/** Fragments may have gaps too, this deep. */
const DEPTH_MAX = 4;

/**
 * @param later gaps that stay, to be filled in for each run
 * @throws Error naming the line of a gap without a fragment, or a fragment without a gap.
 */
export function fillTemplate(
  template: string,
  fragments: Readonly<Record<string, string>>,
  later: readonly string[] = [],
): string {
  const used = new Set<string>();
  const fill = (text: string, what: string, depth: number): string =>
    text.replaceAll(GAP, (gap, name: string, offset: number) => {
      if (later.includes(name)) return gap;
      const fragment = fragments[name];
      const where = `line ${text.slice(0, offset).split('\n').length} of ${what}`;
      if (fragment === undefined) throw new Error(`${where} has a gap ${gap}, but there is no fragment of that name`);
      if (depth === DEPTH_MAX) throw new Error(`${where}: fragments are nested more than ${DEPTH_MAX} deep at ${gap}`);
      used.add(name);
      return fill(fragment, `the fragment ${name}`, depth + 1);
    });
  const filled = fill(template, 'the SQL', 0);
  const unused = Object.keys(fragments).filter((name) => !used.has(name));
  if (unused.length > 0) throw new Error(`the SQL has no gap for the fragment ${unused.join(', ')}`);
  return filled;
}
