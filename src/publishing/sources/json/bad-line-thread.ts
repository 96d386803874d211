/**
 * The thread that finds the first line of a file that is no JSON, or the longest line where one is too long. A line may have any length, and
 * parsing one of 20 MB takes a tenth of a second, in which a service would answer nobody. Only files that are refused are read like this.
 */
import { createReadStream } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { requireWellFormed } from '../../../domain/well-formed-json.ts';

const LF = 0x0a;
const MARK = Buffer.from('\ufeff');

/** DuckDB reads an object of so many bytes for certain, and some that are longer. */
const OBJECT_BYTES = 16 * 1024 * 1024;

/** What DuckDB could not read. */
export interface BadFile {
  readonly path: string;
  readonly isTooLong: boolean;
}

const { path, isTooLong } = workerData as BadFile;
// A byte order mark is passed over at the beginning of the file alone, as by DuckDB.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Lines end in LF: what ends in CR alone is, to DuckDB, one line of several objects. */
async function* linesOf(file: string): AsyncGenerator<Buffer> {
  let begun: Buffer[] = [];
  for await (const chunk of createReadStream(file)) {
    let bytes = chunk as Buffer;
    for (let end = bytes.indexOf(LF); end >= 0; end = bytes.indexOf(LF)) {
      yield Buffer.concat([...begun, bytes.subarray(0, end)]);
      begun = [];
      bytes = bytes.subarray(end + 1);
    }
    begun.push(bytes);
  }
  yield Buffer.concat(begun);
}

async function firstBadLine(): Promise<number | undefined> {
  let number = 0;
  for await (const line of linesOf(path)) {
    number += 1;
    const hasMark = number === 1 && line.subarray(0, MARK.length).equals(MARK);
    try {
      const text = decoder.decode(hasMark ? line.subarray(MARK.length) : line);
      if (/^[ \t\r]*$/.test(text)) continue;
      JSON.parse(text);
      requireWellFormed(text);
    } catch {
      return number;
    }
  }
  return undefined;
}

/** Since a shorter one may have been read. No line is held here: it may have any length. */
async function longestLine(): Promise<number | undefined> {
  let number = 1;
  let length = 0;
  let longest = { number, length };
  const ended = () => {
    if (length > longest.length) longest = { number, length };
  };
  for await (const chunk of createReadStream(path)) {
    const bytes = chunk as Buffer;
    let from = 0;
    for (let end = bytes.indexOf(LF); end >= 0; end = bytes.indexOf(LF, from)) {
      length += end - from;
      ended();
      number += 1;
      length = 0;
      from = end + 1;
    }
    length += bytes.length - from;
  }
  ended();
  return longest.length > OBJECT_BYTES ? longest.number : undefined;
}

parentPort?.postMessage(await (isTooLong ? longestLine() : firstBadLine()));
