/** DuckDB's names of types that hold others, as DESCRIBE writes them → what they hold. */

/** The type of the members of a list. */
export function elementOf(type: string): string | undefined {
  return /^(.*)\[\d*\]$/s.exec(type)?.[1];
}

/** The types of the keys and values of a map. */
export function keyAndValueOf(type: string): readonly [key: string, value: string] | undefined {
  if (elementOf(type) !== undefined) return undefined;
  const [key, value] = partsOf(/^MAP\((.*)\)$/s.exec(type)?.[1]);
  return key === undefined || value === undefined ? undefined : [key, value];
}

/** The fields of a struct. */
export function fieldsOf(type: string): readonly { readonly name: string; readonly type: string }[] | undefined {
  const inner = elementOf(type) === undefined ? /^STRUCT\((.*)\)$/s.exec(type)?.[1] : undefined;
  if (inner === undefined) return undefined;
  return partsOf(inner).flatMap((part) => {
    const [, quoted, bare = '', rest = ''] = /^(?:"((?:[^"]|"")*)"|([^\s"]+)) (.*)$/s.exec(part) ?? [];
    return [{ name: quoted?.replaceAll('""', '"') ?? bare, type: rest }];
  });
}

/** Parts between the commas that stand in no parentheses and in no quotes. */
function partsOf(text: string | undefined): readonly string[] {
  const parts: string[] = [];
  let [start, depth] = [0, 0];
  for (const { 0: mark, index } of (text ?? '').matchAll(/"(?:[^"]|"")*"|'(?:[^']|'')*'|[(),]/g)) {
    if (mark === '(') depth += 1;
    else if (mark === ')') depth -= 1;
    else if (mark === ',' && depth === 0) {
      parts.push((text ?? '').slice(start, index).trim());
      start = index + 1;
    }
  }
  return [...parts, (text ?? '').slice(start).trim()];
}
