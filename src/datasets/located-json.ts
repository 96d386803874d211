/**
 * JSON that knows the line of each of its values, so that what is wrong in a file that people write is told with its line. The
 * values are those of `JSON.parse`, which also decides what is JSON.
 */

export interface LocatedJson {
  readonly value: unknown;
  /** The line, from 1, of the value at this path, or of the innermost value around it that is there. */
  readonly lineOf: (path: readonly (string | number)[]) => number;
}

/** Where a file is not JSON. */
export class NotJson extends Error {
  readonly line: number;

  constructor(message: string, line: number) {
    super(message);
    this.line = line;
  }
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s"{}[\]:,]+/g;

/** @throws NotJson */
export function readLocatedJson(text: string): LocatedJson {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const position = Number(/at position ([0-9]+)/.exec(message)?.[1] ?? findUnexpected(text) ?? text.length);
    throw new NotJson(
      message.replace(/ \(line .*$| at position .*$|, .* is not valid JSON$/s, ''),
      lineAt(text, position),
    );
  }
  const lines = locate(text);
  return {
    value,
    lineOf: (path) => {
      for (let length = path.length; length > 0; length -= 1) {
        const line = lines.get(JSON.stringify(path.slice(0, length)));
        if (line !== undefined) return line;
      }
      return 1;
    },
  };
}

/** Where the first token stands that no value begins with: of that, and of no other mistake, `JSON.parse` does not say where it is. */
function findUnexpected(text: string): number | undefined {
  let before = '';
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    const isPunctuation = /^[{}[\]:,]$/.test(token);
    const isEnd = /^[}\]:,]$/.test(token) && !(before === '[' && token === ']');
    if (isPunctuation ? isEnd && /^[[:,]?$/.test(before) : !isJson(token)) return index;
    before = token;
  }
  return undefined;
}

function isJson(token: string): boolean {
  try {
    JSON.parse(token);
    return true;
  } catch {
    return false;
  }
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

/** @param text JSON @returns the line of each value by its path, as JSON */
function locate(text: string): ReadonlyMap<string, number> {
  const lines = new Map<string, number>();
  const path: (string | number)[] = [];
  let isKey = false;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    const inArray = typeof path.at(-1) === 'number';
    if (token === '}' || token === ']') {
      path.pop();
      isKey = false;
    } else if (token === ',') {
      if (inArray) path[path.length - 1] = Number(path.at(-1)) + 1;
      else isKey = true;
    } else if (token === ':') {
      isKey = false;
    } else if (isKey) {
      path[path.length - 1] = JSON.parse(token) as string;
      lines.set(JSON.stringify(path), lineAt(text, index));
    } else {
      if (!lines.has(JSON.stringify(path))) lines.set(JSON.stringify(path), lineAt(text, index));
      if (token === '{') path.push('');
      if (token === '[') path.push(0);
      isKey = token === '{';
    }
  }
  return lines;
}
