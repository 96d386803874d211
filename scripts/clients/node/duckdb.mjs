/** DuckDB, of a download of the Parquet file. */
import { writeFile } from 'node:fs/promises';
import { DuckDBInstance, version } from '@duckdb/node-api';
import { answer, names, print, table } from './cells.mjs';

await writeFile('table.parquet', await (await answer(`${table}?format=parquet`)).bytes());
const connection = await (await DuckDBInstance.create(':memory:')).connect();
await connection.run(`SET TimeZone = 'UTC'`);
const texts = names.map((name) => {
  if (name === 'hash') return `'0x' || lower(hex(hash))`;
  return ['tags', 'counts'].includes(name) ? `to_json("${name}")::VARCHAR` : `"${name}"::VARCHAR`;
});
const reader = await connection.runAndReadAll(`SELECT ${texts.join(', ')} FROM read_parquet('table.parquet')`);
print(version(), reader.getRows());
