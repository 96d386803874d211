/**
 * Samples over HTTP: 1,000 of 10 million rows, exactly uniform, against DuckDB's reservoir sampling of the same parts. Every
 * request draws anew, so none comes from a cache. The larger sample goes beyond what was drawn at publishing.
 */
import { medianMillis, medianPair, print, report } from './measure.ts';
import { duckDb, publishedRows, startService, storedRowsSql } from './service.ts';

const ROWS = 10_000_000;
const SAMPLE = 1000;
const LARGE_SAMPLES = [10_000, 25_000] as const;

const execution = await publishedRows(ROWS);
await using service = await startService();
const connection = await duckDb(2);

async function sample(rows: number): Promise<void> {
  const url = `${service.url}/v1/execution/${execution}/results?sample_count=${rows}`;
  const response = await fetch(url, {
    headers: { 'x-service-api-key': service.key, 'accept-encoding': 'identity' },
  });
  const body = await response.arrayBuffer();
  if (response.status !== 200) throw new Error(`status ${response.status}`);
  const found = Number(/"row_count":(\d+)/.exec(Buffer.from(body).toString('utf8').slice(-3000))?.[1]);
  if (found !== rows) throw new Error(`${found} rows where ${rows} were asked for`);
}

const [http, reservoir] = await medianPair(
  11,
  () => sample(SAMPLE),
  async () => {
    const sql = `${storedRowsSql(execution)} USING SAMPLE reservoir(${SAMPLE} ROWS)`;
    await (await connection.run(sql)).getRows();
  },
);
report(
  `${SAMPLE} of ${ROWS} rows sampled over HTTP / reservoir sampling`,
  http / reservoir,
  '≤ 0.1',
  `${http.toFixed(1)} ms / ${reservoir.toFixed(0)} ms`,
);
for (const rows of LARGE_SAMPLES) {
  print(`  ${rows} rows: ${(await medianMillis(7, () => sample(rows))).toFixed(1)} ms`);
}
connection.closeSync();
