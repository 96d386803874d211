/** Node's own fetch: NDJSON, every integer with its digits (JSON.parse tells a reviver the text of a number). */
import { answer, print, rowsOf, table } from './cells.mjs';

const exact = (_, value, { source }) => (typeof value === 'number' && /^-?\d+$/.test(source) ? BigInt(source) : value);
const text = await (await answer(table, { Accept: 'application/x-ndjson' })).text();
const lines = text.trimEnd().split('\n');
print(process.versions.node, rowsOf(lines.map((line) => JSON.parse(line, exact))));
