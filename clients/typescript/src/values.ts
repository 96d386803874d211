/**
 * Converts values to JavaScript's by the type of their column. In a column whose integers may exceed 2^53, all are bigints, so that it has
 * one type; they come as digits and are never rounded. Decimals, times, bytes (`0x…`) and JSON stay text.
 */
export type Value = null | boolean | number | bigint | string | readonly Value[] | { readonly [name: string]: Value };

type Read = (value: never) => Value;

const INTEGERS: readonly string[] = ['bigint', 'hugeint', 'uint256', 'int256'];
const DOUBLES: readonly string[] = ['double', 'real'];

/** @param type as `column_types` has it: `array(bigint)`. @returns undefined where a value is what JSON has */
export function readerOf(type: string): ((value: unknown) => Value) | undefined {
  const read = readOf(type);
  return read && ((value) => (value === null ? null : read(value as never)));
}

function readOf(type: string): Read | undefined {
  if (INTEGERS.includes(type)) return (value: number | string) => BigInt(value);
  // NaN and the infinities arrive as text.
  if (DOUBLES.includes(type)) return (value: number | string) => Number(value);
  const [, kind, inner] = /^(array|map|row)\((.*)\)$/s.exec(type) ?? [];
  if (kind === undefined || inner === undefined) return undefined;
  const members = split(inner);
  if (kind === 'array') {
    const item = readerOf(inner);
    return item && ((list: readonly unknown[]) => list.map(item));
  }
  if (kind === 'map') {
    const item = readerOf(members[1] ?? '');
    return item && ((map: object) => Object.fromEntries(Object.entries(map).map(([key, value]) => [key, item(value)])));
  }
  const fields = new Map(members.map(fieldOf).map(({ name, type }) => [name, readerOf(type)]));
  if ([...fields.values()].every((field) => field === undefined)) return undefined;
  return (row: object) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, fields.get(name)?.(value) ?? value]));
}

/** `a bigint`, or `"a b" bigint`. */
function fieldOf(member: string): { readonly name: string; readonly type: string } {
  const [, quoted, bare = '', type = ''] = /^(?:"((?:[^"]|"")*)"|(\S+)) (.*)$/s.exec(member) ?? [];
  return { name: quoted?.replaceAll('""', '"') ?? bare, type };
}

/** At the commas outside of parentheses and quotes. */
function split(text: string): readonly string[] {
  const parts: string[] = [];
  let [depth, start, quoted] = [0, 0, false];
  for (let at = 0; at < text.length; at += 1) {
    const mark = text[at];
    if (mark === '"') quoted = !quoted;
    if (quoted) continue;
    if (mark === '(') depth += 1;
    if (mark === ')') depth -= 1;
    if (mark !== ',' || depth > 0) continue;
    parts.push(text.slice(start, at).trim());
    start = at + 1;
  }
  return [...parts, text.slice(start).trim()];
}
