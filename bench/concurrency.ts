/**
 * Many users at once: requests a second and what a client waits (p50, p95, p99) for pages of 100 rows at 1, 8 and 64
 * connections; cold (each request asks for another page), hot (always the same), and cold beside one export that never ends.
 */
import { countBytes } from './count-bytes.ts';
import { type Load, load } from './load.ts';
import { print, report } from './measure.ts';
import { publishedRows, startService } from './service.ts';

const ROWS = 10_000_000;
const PAGE = 100;
const CONNECTIONS = [1, 8, 64] as const;
/** No divisor of the rows of a row group, so that pages come from everywhere and none twice. */
const STEP = 10_007;
const PART_ROWS = 999_424;

const execution = await publishedRows(ROWS);
await using service = await startService();
const { url, key } = service;
const headers = { 'x-service-api-key': key };
const path = `/v1/execution/${execution}/results`;
let firstOffset = 0;

for (let firstRow = 0; firstRow < ROWS; firstRow += PART_ROWS) {
  await (await fetch(`${url}${path}?limit=1&offset=${firstRow}`, { headers })).arrayBuffer();
}
print(`pages of ${PAGE} rows of a result of ${ROWS} rows × 10 columns`);
await load({ url, path: `${path}?limit=${PAGE}`, headers, connections: 8 });
const idle = new Map<number, Load>();
for (const connections of CONNECTIONS) {
  show(`hot, ${connections} connections`, await load({ url, path: `${path}?limit=${PAGE}`, headers, connections }));
}
for (const connections of CONNECTIONS) {
  const alone = await cold(connections);
  idle.set(connections, alone);
  show(`cold, ${connections} connections`, alone);
}
const stop = new AbortController();
const exporting = exportForever(stop.signal);
for (const connections of CONNECTIONS) {
  const beside = await cold(connections);
  show(`cold beside an export, ${connections} connections`, beside);
  const alone = idle.get(connections);
  if (alone === undefined) continue;
  report(
    `p95 of small pages beside an export / idle, ${connections} connections`,
    beside.p95 / alone.p95,
    '≤ 3',
    `${beside.p95.toFixed(1)} ms / ${alone.p95.toFixed(1)} ms`,
  );
}
stop.abort();
const exported = await exporting;
print(`  the export meanwhile: ${exported.toFixed(0)} MB/s`);

async function cold(connections: number): Promise<Load> {
  const asked = { path: `${path}?limit=${PAGE}&offset=OFFSET`, firstOffset, offsetStep: STEP };
  // The next measurement takes rows between those of this one. Offsets start again before the end of the result.
  firstOffset += 137;
  return await load({ url, headers, connections, offsetModulo: ROWS - PAGE, ...asked });
}

/** Reads the whole result over and over, as a client that only counts what it gets. @returns MB/s */
async function exportForever(signal: AbortSignal): Promise<number> {
  const start = performance.now();
  let bytes = 0;
  while (!signal.aborted) {
    try {
      await countBytes(`${url}${path}?ignore_max_datapoints_per_request=true`, { headers, signal }, (more) => {
        bytes += more;
      });
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
  return bytes / (performance.now() - start) / 1000;
}

function show(what: string, { perSecond, p50, p95, p99 }: Load): void {
  const millis = [p50, p95, p99].map((value) => value.toFixed(2).padStart(8)).join(' ');
  print(`  ${what.padEnd(44)} ${perSecond.toFixed(0).padStart(7)}/s   p50 p95 p99 ${millis} ms`);
}
