/**
 * What another worker gives: the same page again, asked of one process and of two. The machine has as many cores as it has, and the
 * client needs some of them, so the figure that travels is computing time for each request: if that stays, N cores answer N times as many.
 */
import { load } from './load.ts';
import { report } from './measure.ts';
import { publishedRows, startService } from './service.ts';

const ROWS = 1_000_000;
const WORKERS = 2;
const TURNS = 3;
const CONNECTIONS = 16;

interface Figures {
  readonly micros: number;
  readonly perSecond: number;
}

const execution = await publishedRows(ROWS);
const path = `/v1/execution/${execution}/results?limit=25`;
await using one = await startService({ QRS_WORKERS: '1' });
await using several = await startService({ QRS_WORKERS: String(WORKERS) });
const ones: Figures[] = [];
const severals: Figures[] = [];
for (let turn = 0; turn < TURNS; turn += 1) {
  ones.push(await measure(one));
  severals.push(await measure(several));
}
const [alone, together] = [median(ones), median(severals)];
report(
  `computing time of a hot page of 7 KB, ${WORKERS} workers / 1`,
  together.micros / alone.micros,
  '≤ 1.1',
  `${together.micros.toFixed(1)} µs / ${alone.micros.toFixed(1)} µs`,
);
report(
  `its requests/s, ${WORKERS} workers / 1, the client on the same cores`,
  together.perSecond / alone.perSecond,
  `≤ ${WORKERS}`,
  `${together.perSecond.toFixed(0)} / ${alone.perSecond.toFixed(0)}`,
);

async function measure({ url, key }: { readonly url: string; readonly key: string }): Promise<Figures> {
  const headers = { 'x-service-api-key': key };
  // V8 compiles all of it only after some hundred thousand requests.
  await load({ url, path, headers, connections: CONNECTIONS, millis: 4000 });
  const before = await computing(url);
  const { requests, perSecond } = await load({ url, path, headers, connections: CONNECTIONS, warmUpMillis: 0 });
  return { micros: ((await computing(url)) - before) / requests, perSecond };
}

/** Of all processes of the service, in microseconds. */
async function computing(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return 1e6 * Number(/^process_cpu_seconds_total (\S+)$/m.exec(text)?.[1]);
}

function median(figures: readonly Figures[]): Figures {
  const middle = figures.toSorted((a, b) => a.micros - b.micros)[Math.floor(figures.length / 2)];
  if (middle === undefined) throw new Error('nothing was measured');
  return middle;
}
