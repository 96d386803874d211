/**
 * Cuts members out of a row's JSON by their order: what `columns=` asks for, without parsing. Of a value only its end is looked
 * for.
 */
import { RowFileDamaged } from './row-file-format.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const N = 0x6e;

/** The place of a member: its name begins at `start`, its value at `value`, and it ends before `end`. */
export interface Members {
  readonly start: Uint32Array;
  readonly value: Uint32Array;
  readonly end: Uint32Array;
}

export function membersOf(columnCount: number): Members {
  const numbers = () => new Uint32Array(columnCount);
  return { start: numbers(), value: numbers(), end: numbers() };
}

/**
 * Finds the first members of the row that begins at `at`.
 * @param nameBytes bytes of each member's name, with the quotes
 * @param count how many members to find
 * @throws RowFileDamaged where the text is not such a row
 */
export function findMembers(
  bytes: Uint8Array,
  at: number,
  nameBytes: readonly number[],
  count: number,
  found: Members,
): void {
  if (bytes[at] !== OPEN_BRACE) throw notARow();
  let start = at + 1;
  for (let member = 0; member < count; member += 1) {
    const colon = start + (nameBytes[member] ?? 0);
    if (bytes[start] !== QUOTE || bytes[colon] !== COLON) throw notARow();
    const end = endOfValue(bytes, colon + 1);
    found.start[member] = start;
    found.value[member] = colon + 1;
    found.end[member] = end;
    start = end + 1;
  }
}

/** Text values are quoted, so only `null` begins with an n. */
export function isNull(bytes: Uint8Array, value: number): boolean {
  return bytes[value] === N;
}

/** Writes the members as a row of their own, from `at` in `target`. @returns where it ends */
export function writeMembers(
  bytes: Buffer,
  found: Members,
  wanted: readonly number[],
  target: Buffer,
  at: number,
): number {
  let to = at;
  target[to] = OPEN_BRACE;
  to += 1;
  for (let place = 0; place < wanted.length; place += 1) {
    const member = wanted[place] ?? 0;
    if (place > 0) {
      target[to] = COMMA;
      to += 1;
    }
    to += bytes.copy(target, to, found.start[member], found.end[member]);
  }
  target[to] = CLOSE_BRACE;
  return to + 1;
}

function endOfValue(bytes: Uint8Array, value: number): number {
  const first = bytes[value];
  if (first === QUOTE) return endOfText(bytes, value);
  let at = value;
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) {
    while (bytes[at] !== COMMA && bytes[at] !== CLOSE_BRACE) {
      if (at >= bytes.length) throw notARow();
      at += 1;
    }
    return at;
  }
  let depth = 0;
  for (;;) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfText(bytes, at);
    else {
      if (byte === undefined) throw notARow();
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth += 1;
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth -= 1;
      at += 1;
      if (depth === 0) return at;
    }
  }
}

/** @param quote place of the text's first quote @returns the place after its last one */
function endOfText(bytes: Uint8Array, quote: number): number {
  let at = quote + 1;
  for (;;) {
    const byte = bytes[at];
    if (byte === QUOTE) return at + 1;
    if (byte === undefined) throw notARow();
    at += byte === BACKSLASH ? 2 : 1;
  }
}

function notARow(): RowFileDamaged {
  return new RowFileDamaged('the text of a row is not that of its columns');
}
