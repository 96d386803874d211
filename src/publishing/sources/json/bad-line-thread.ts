/**
 * The thread that finds the first line of a file that is no JSON. A line may have any length, and parsing one of 20 MB takes a tenth of a
 * second, in which a service would answer nobody. Only files that are refused are read like this.
 */
import { createReadStream } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { requireWellFormed } from '../../../domain/well-formed-json.ts';

const LF = 0x0a;
const MARK = Buffer.from('\ufeff');

const path = workerData as string;
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

parentPort?.postMessage(await firstBadLine());
