/**
 * The thread that finds the first line of a file that is no JSON. A line may have any length, and parsing one of 20 MB takes a tenth of a
 * second, in which a service would answer nobody. Only files that are refused are read like this.
 */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { requireWellFormed } from '../../../domain/well-formed-json.ts';

const path = workerData as string;
const decoder = new TextDecoder('utf-8', { fatal: true });
// latin1 keeps the bytes apart, so that bytes which are no UTF-8 are noticed in their own line.
const lines = createInterface({ input: createReadStream(path, { encoding: 'latin1' }), crlfDelay: Infinity });
let number = 0;
let found: number | undefined;
for await (const line of lines) {
  number += 1;
  if (line.trim() === '') continue;
  try {
    const text = decoder.decode(Buffer.from(line, 'latin1'));
    JSON.parse(text);
    requireWellFormed(text);
  } catch {
    found = number;
    break;
  }
}
parentPort?.postMessage(found);
