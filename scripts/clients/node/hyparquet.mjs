/** Parquet by ranges of bytes, as pages in a browser read it. A Date has milliseconds, so microseconds are read as text. */
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { headers, print, rowsOf, table } from './cells.mjs';

const home = `${process.env.PACKAGES}/node_modules`;
const { asyncBufferFromUrl, parquetReadObjects } = await import(pathToFileURL(`${home}/hyparquet/src/node.js`).href);
const { compressors } = await import(pathToFileURL(`${home}/hyparquet-compressors/src/index.js`).href);
const { version } = JSON.parse(readFileSync(`${home}/hyparquet/package.json`, 'utf8'));
const file = await asyncBufferFromUrl({ url: `${table}?format=parquet`, requestInit: { headers } });
// Bytes are text for it unless it is told otherwise, and so are a date's days: a Date of midnight.
const parsers = { timestampFromMicroseconds };
const rows = await parquetReadObjects({ file, compressors, parsers, utf8: false });
print(version, rowsOf(rows.map((row) => ({ ...row, day: row.day?.toISOString().slice(0, 10) }))));

function timestampFromMicroseconds(micros) {
  const seconds = micros / 1_000_000n - (micros % 1_000_000n < 0n ? 1n : 0n);
  const fraction = String(micros - seconds * 1_000_000n).padStart(6, '0');
  return `${new Date(Number(seconds) * 1000).toISOString().slice(0, 19)}.${fraction}`;
}
