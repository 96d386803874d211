/** Node's own fetch: JSON as everybody reads it, with the integers that it would round asked for as text. */
import { answer, print, rowsOf, table } from './cells.mjs';

const { result } = await (await answer(`${table}?bigints=string`)).json();
// In a list some integers are text then, and some are not: compared as integers.
const rows = result.rows.map((row) => ({ ...row, counts: row.counts?.map((one) => one && BigInt(one)) }));
print(process.versions.node, rowsOf(rows));
