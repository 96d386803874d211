/**
 * Where something in a declaration is written, for errors: declarations are code, so it is where they call from. Their files stand in
 * the folder of their dataset, or of those that share them.
 */
import { readFileSync } from 'node:fs';

const FRAME = /(file:\/\/[^\s()]*\/datasets\/([^\s()]*)):(\d+):\d+/;

/**
 * @param word the first time that it stands there, from the call on
 * @param callee the function that was called: its caller's place is meant
 * @returns `points/declaration.ts:14`; undefined where it is not known
 */
export function writtenPlace(word: string, callee: (...args: never[]) => unknown): string | undefined {
  const called: { stack?: string } = {};
  Error.captureStackTrace(called, callee);
  const [, url, file, line] = FRAME.exec(called.stack ?? '') ?? [];
  if (url === undefined || file === undefined) return undefined;
  const lines = readFileSync(new URL(url), 'utf8').split('\n');
  const calledAt = Number(line);
  const found = lines.findIndex((text, index) => index >= calledAt - 1 && text.includes(`${word}:`));
  return `${file}:${found < 0 ? calledAt : found + 1}`;
}
